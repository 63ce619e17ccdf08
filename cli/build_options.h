// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cccl_cache/batch.h"
#include "cccl_cache/client.h"
#include "cli/daemon_answers.h"
#include "cli/terminal/command.h"
#include "cli/terminal/progress.h"

namespace cccl_cache::cli {

/// The options that `build`, `link` and `nvvm` share.
struct CompileOptions {
  std::string architecture;
  std::string emit;
  std::string output;  ///< empty: derived from the first input
  std::vector<std::string> options;
  std::string toolchain;
  std::string priority;  ///< empty: $CCCL_CACHE_PRIORITY, or else normal
  std::string fallback;  ///< "local": compile on this machine if the daemon can't; else "error"
  bool quiet = false;
  bool verbose = false;
};

/// Adds the options --arch, --emit, -o, --option, --toolchain, --priority, --fallback, -q and -v to
/// the command. `kinds` are the allowed values of --emit; the first one is the default. `output` is
/// the help text for the default of -o. The parsed values are stored in `options`.
void AddCompileOptions(CLI::App* command, const std::vector<std::string>& kinds,
                       const std::string& output, CompileOptions* options);
/// Help text for the default of -o in commands with one input file.
inline constexpr const char* kNamedAfterInput =
    "the name of the input with the extension of what is written, in the working directory";

/// Adds an option that may be repeated and takes one value each time. Words after the value are
/// arguments of the command, not further values.
CLI::Option* AddRepeated(CLI::App* command, const std::string& names,
                         std::vector<std::string>* values, const std::string& help);

/// The compiler of a command.
enum class Compiler { kNvrtc, kNvJitLink, kNvvm };

/// The detail of the summary that a successful build prints to standard error.
enum class Summary : uint8_t { kNone, kLine, kDetails };

/// The parsed options of a command: the build to request, and where to write its results.
struct CompilePlan {
  Compiler compiler = Compiler::kNvrtc;
  std::string architecture;  ///< such as "sm_90"; "native" has been replaced
  Kind kind = Kind::kCubin;
  std::string output;
  BuildOptions build;
  bool local_fallback = false;
  Summary summary = Summary::kNone;
};

/// Makes the plan from the options and from facts of this machine, such as the driver's version and
/// the working directory. CCCL_CACHE_INVALID_REQUEST means that the command line is wrong. `json`
/// means that standard output is reserved for JSON.
Expected<CompilePlan> PlanCompile(const CompileOptions& options, Compiler compiler, bool json);

/// Writes the artifact, the log, the summary and, with --json, the JSON object. Returns the exit
/// code. `time` is the time from the request to the result.
int Report(const BuildResult& result, const CompilePlan& plan, const CommonOptions& common,
           std::chrono::microseconds time);

/// Prints why the build would be compiled, as text or JSON. Returns the exit code.
int Report(const Explanation& explanation, const CommonOptions& common);

/// Returns the explanation as human-readable text.
[[nodiscard]] std::string InWords(const Explanation& explanation);

/// Reports the error like Fail(). If there is no daemon, or it is too busy, the message also names
/// the option --fallback local, which compiles without the daemon.
int FailBuild(Error error, const CompilePlan& plan, const CommonOptions& common);

/// Reports an error of PlanCompile(). Returns the exit code: kUsage if the command line is wrong,
/// or else the code of Fail().
int FailPlan(const Error& error, const CommonOptions& common);

/// Asks the daemon for the build and shows the progress, unless the plan has no summary. If the
/// daemon asks to come back later because its queue is full, a batch does so until there is room.
template <typename Build>
Expected<BuildResult> AskForBuild(Client* client, const Build& build, const CompilePlan& plan,
                                  const std::string& socket) {
  std::optional<ProgressOfCall> progress;
  const bool shown = plan.summary != Summary::kNone;
  if (shown) progress.emplace(AsksForWait(socket));
  Expected<BuildResult> result = client->Build(build, plan.build);
  const bool full = !result.ok() && result.error().status == CCCL_CACHE_OVERLOADED;
  if (!full || result.error().retry_after_ms == 0) return result;
  progress.reset();
  if (shown) progress.emplace(AsksForWait(socket, "waiting: " + result.error().message));
  Expected<Batch> batch = Batch::Open(*client);
  const Expected<Done> added = batch.ok() ? batch->Add(build, 0, plan.build) : batch.error();
  if (!added.ok()) return added.error();
  return std::move(batch->Next()->result);
}

/// Runs the build and writes its result. With common.explain, prints why the build would be
/// compiled instead. Returns the exit code.
template <typename Build>
int RunCompile(const Build& build, const CompilePlan& plan, const CommonOptions& common) {
  Expected<Client> client = Client::Open(ClientOptions{
      .socket = common.socket,
      .fallback = plan.local_fallback ? CCCL_CACHE_FALLBACK_LOCAL : CCCL_CACHE_FALLBACK_ERROR});
  if (!client.ok()) return FailBuild(client.error(), plan, common);
  if (common.explain) {
    const Expected<std::string> json = client->Explain(build, plan.build);
    return json.ok() ? Report(ReadExplanation(*json), common) : Fail(json.error(), common);
  }
  const auto begin = std::chrono::steady_clock::now();
  const Expected<BuildResult> result = AskForBuild(&*client, build, plan, common.socket);
  if (!result.ok()) return FailBuild(result.error(), plan, common);
  const auto time = std::chrono::steady_clock::now() - begin;
  return Report(*result, plan, common, std::chrono::duration_cast<std::chrono::microseconds>(time));
}

/// Sets the toolchain from the value of --toolchain: a major version ("13"), a version ("12.9"), or
/// at least the first 8 hexadecimal digits of an id. If `spec` is empty, the daemon chooses. Other
/// values fail with CCCL_CACHE_INVALID_REQUEST.
[[nodiscard]] Expected<Done> ChooseToolchain(const std::string& spec, BuildOptions* options);

/// Returns a hint in terms of this command's options if the compiler's log shows a common mistake
/// with --arch, --emit, --option or an input. The log itself names the compiler's options instead.
/// Returns "" if there is no hint.
[[nodiscard]] std::string FailureHint(const CompilePlan& plan, std::string_view log);

}  // namespace cccl_cache::cli

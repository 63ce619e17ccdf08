// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::string priority;  ///< empty: that of the environment
  std::string fallback;  ///< "local": compile here if the daemon does not; else "error"
  bool quiet = false;
  bool verbose = false;
};

/// Adds --arch, --emit, -o, --option, --toolchain, --priority, --fallback, -q and -v. `kinds` are
/// the values of --emit, the default first; `output` describes the default of -o.
void AddCompileOptions(CLI::App* command, const std::vector<std::string>& kinds,
                       const std::string& output, CompileOptions* options);
/// The default of -o of commands with one input.
inline constexpr const char* kNamedAfterInput =
    "the name of the input with the extension of what is written, in the working directory";

/// Adds an option that takes one value each time it is given; the words after the value stay
/// arguments.
CLI::Option* AddRepeated(CLI::App* command, const std::string& names,
                         std::vector<std::string>* values, const std::string& help);

/// The compiler of a command.
enum class Compiler { kNvrtc, kNvJitLink, kNvvm };

/// The amount that a successful build prints to standard error.
enum class Summary : uint8_t { kNone, kLine, kDetails };

/// The parsed options: the build, and where its results go.
struct CompilePlan {
  Compiler compiler = Compiler::kNvrtc;
  std::string architecture;  ///< "sm_90": `native` is resolved
  Kind kind = Kind::kCubin;
  std::string output;
  BuildOptions build;
  bool local_fallback = false;
  Summary summary = Summary::kNone;
};

/// Resolves what depends on this machine: the driver, the working directory. An error with
/// CCCL_CACHE_INVALID_REQUEST means that the command line is wrong. `json`: standard output is
/// taken.
Expected<CompilePlan> PlanCompile(const CompileOptions& options, Compiler compiler, bool json);

/// Writes the artifact, the log, the summary and, with --json, the JSON; returns the exit code.
/// `time`: from the request to the result.
int Report(const BuildResult& result, const CompilePlan& plan, const CommonOptions& common,
           std::chrono::microseconds time);

/// Prints why a build is a miss, as text or JSON; returns the exit code.
int Report(const Explanation& explanation, const CommonOptions& common);

/// Returns an explanation as text for people.
[[nodiscard]] std::string InWords(const Explanation& explanation);

/// Like Fail, but if there is no daemon, or it is too busy, adds the option that compiles without
/// it.
int FailBuild(Error error, const CompilePlan& plan, const CommonOptions& common);

/// Reports an error of the command line (kUsage) or of the machine (kOther), and returns that exit
/// code.
int FailPlan(const Error& error, const CommonOptions& common);

/// Runs the build and writes its result, or with common.explain prints why it would be compiled.
/// Returns the exit code.
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
  const Expected<BuildResult> result = [&] {
    std::optional<ProgressOfCall> progress;
    if (plan.summary != Summary::kNone) progress.emplace(AsksForWait(common.socket));
    return client->Build(build, plan.build);
  }();
  if (!result.ok()) return FailBuild(result.error(), plan, common);
  const auto time = std::chrono::steady_clock::now() - begin;
  return Report(*result, plan, common, std::chrono::duration_cast<std::chrono::microseconds>(time));
}

/// Sets the toolchain from --toolchain: a major ("13"), a version ("12.9"), or an id or its
/// beginning (at least 8 hexadecimal digits). Empty: the daemon chooses. Any other text is an error
/// with CCCL_CACHE_INVALID_REQUEST.
[[nodiscard]] Expected<Done> ChooseToolchain(const std::string& spec, BuildOptions* options);

/// Returns a hint if the compiler's log shows a common mistake with --arch, --emit, an option or an
/// input: the log does not name the options of this command. If the log is empty, returns the name
/// of the compiler's error. Empty: no hint.
[[nodiscard]] std::string FailureHint(const CompilePlan& plan, std::string_view log);

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <iterator>

#include "base/json.h"
#include "base/text.h"
#include "cli/build_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/files.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Returns whether the text is an architecture with this prefix: "sm_90", "sm_90a".
bool IsArchitecture(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  if (!text.empty() && text.back() >= 'a' && text.back() <= 'z') text.remove_suffix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

/// Returns the digits of a misspelled architecture: "90" for "sm90", "9.0" and "compute_90".
/// Returns "90" as an example if there are no digits.
std::string NumberOf(std::string_view text) {
  std::string number;
  std::copy_if(text.begin(), text.end(), std::back_inserter(number), IsDigit);
  return number.empty() ? "90" : number;
}

/// Returns whether the text lists several architectures, as "sm_80,sm_90".
bool NamesSeveral(std::string_view text) {
  return !IsArchitecture(text, "sm_") && !IsArchitecture(text, "compute_") &&
         NumberOf(text).size() > 3;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string LinkHint(const CompilePlan& plan, std::string_view log) {
  if (Has(log, "(-lto)")) return "LTO-IR is linked with --option=-lto";
  if (Has(log, "requires -lto")) return "--emit ptx links LTO-IR, with --option=-lto";
  if (Has(log, "may need newer version")) {
    return "an input is of a newer CUDA than this toolchain: name one as new with --toolchain "
           "(`cccl-cache-cli toolchains` lists them), or make the input again with this one";
  }
  const bool unreadable = Has(log, "nvvmCompileProgram") && Has(log, ": parse ");
  if (unreadable || Has(log, "bad input") || Has(log, "INVALID_INPUT")) {
    return "an input is damaged, or its extension does not fit its contents: make it again "
           "(LTO-IR by `cccl-cache-cli build --emit ltoir`), or rename it";
  }
  if (!Has(log, "requires -ptx")) return "";
  return "--arch " + plan.architecture + " goes with --emit ptx, a cubin is made by --arch sm_" +
         NumberOf(plan.architecture);
}

/// Returns whether the log of NVRTC, nvJitLink or libNVVM complains about an unknown option.
/// libNVVM also does so for a wrong value of --arch, for which this returns false.
bool NamesUnknownOption(std::string_view log) {
  return Has(log, "unrecognized option") || (Has(log, "unsupported option") && !Has(log, "-arch="));
}

std::string Hexadecimal(std::string_view bytes) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(kHexDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kHexDigits[byte & 0xf]);
  }
  return text;
}

/// Returns the number of the request in the daemon's log, in hexadecimal digits. Returns "" if
/// there is no number.
std::string RequestOf(const BuildResult& result) {
  char text[24] = "";
  const uint64_t id = result.info().request_id;
  if (id != 0) std::snprintf(text, sizeof(text), "%" PRIx64, id);
  return text;
}

void WriteArtifacts(const BuildResult& result, JsonWriter* json) {
  json->Key("artifacts").BeginArray();
  for (const Artifact& artifact : result.artifacts()) {
    const auto kind = static_cast<cccl_cache_artifact_kind>(artifact.kind);
    json->BeginObject().Fields("kind", cccl_cache_artifact_kind_name(kind), "size",
                               artifact.contents.size(), "sha256", Hexadecimal(artifact.sha256));
    json->EndObject();
  }
  json->EndArray();
  json->Key("lowered_names").BeginObject();
  for (const LoweredName& name : result.lowered_names()) {
    json->Key(name.expression).String(name.lowered);
  }
  json->EndObject();
}

std::string Json(const BuildResult& result, const Expected<Done>& written) {
  const cccl_cache_result_info& info = result.info();
  JsonWriter json = BeginAnswer();
  json.Fields("key", result.key(), "fingerprint", result.fingerprint(), "outcome",
              cccl_cache_outcome_name(info.outcome), "tier", result.tier());
  json.Key("toolchain")
      .BeginObject()
      .Fields("id", result.toolchain_id(), "version", result.toolchain_version());
  WriteArtifacts(result, &json.EndObject());
  json.Fields("log", result.log()).Key("timing").BeginObject();
  json.Fields("total_us", info.total_us, "queue_us", info.queue_us, "compile_us", info.compile_us);
  json.EndObject().Fields("precompiled_headers", info.precompiled_headers != 0, "remembered",
                          info.remembered != 0, "native_code", info.native_code, "reason",
                          result.reason(), "request", RequestOf(result));
  if (!written.ok()) WriteError(written.error(), &json);
  return json.EndObject().Finish();
}

// Prints text, such as a compiler's log, to standard error without changes other than a final
// newline.
void ShowText(std::string_view log) {
  std::string text(log);
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  // A write error is ignored, because an error message could not be printed either.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void ExplainFailure(const BuildResult& result, const CompilePlan& plan) {
  const bool silent = result.log().empty();
  if (silent) Complain("does not compile: " + std::string(result.reason()));
  std::string hint = FailureHint(plan, silent ? result.reason() : result.log());
  if (hint.empty()) hint = result.hint();
  if (!hint.empty()) Complain(hint, Role::kWarning);
}

Expected<Done> WriteArtifact(const BuildResult& result, const CompilePlan& plan) {
  for (const Artifact& artifact : result.artifacts()) {
    if (artifact.kind == plan.kind) return WriteFile(plan.output, artifact.contents);
  }
  return Error{
      CCCL_CACHE_UNAVAILABLE,
      std::string("the compiler made no ") +
          cccl_cache_artifact_kind_name(static_cast<cccl_cache_artifact_kind>(plan.kind)) +
          " for " + plan.architecture +
          ": use another --arch (compute_NN for PTX, sm_NN for a cubin) or another --emit"};
}

/// Returns the summary of a successful build, such as "hit (memory) 0.7 ms" or "built 2.6 s". If
/// the result was not cached, the summary contains the reason. With Summary::kDetails, further
/// lines have the key, the toolchain and the request number. `time` is the same as in Report().
std::string SummaryOf(const BuildResult& result, const CompilePlan& plan,
                      std::chrono::microseconds time) {
  const std::string_view tier = result.tier();
  const bool coloured = WantsColour(STDERR_FILENO);
  std::string text = Painted(cccl_cache_outcome_name(result.info().outcome),
                             result.reason().empty() ? Role::kGood : Role::kWarning, coloured);
  if (!tier.empty() && tier != "none") text += " (" + std::string(tier) + ")";
  const auto microseconds = static_cast<double>(time.count());
  const std::string took =
      microseconds >= 1e6 ? Fixed(microseconds / 1e6, "s") : Fixed(microseconds / 1e3, "ms");
  text += " " + Painted(took, Role::kTitle, coloured);
  if (!result.reason().empty()) text += ": " + Printable(result.reason());
  if (plan.summary == Summary::kDetails) {
    if (!result.key().empty()) text += "\nkey " + std::string(result.key());
    text += "\ntoolchain " + Printable(result.toolchain_version()) + " " +
            std::string(result.toolchain_id().substr(0, 12));
    if (const std::string request = RequestOf(result); !request.empty()) {
      text += "\nrequest " + request;
    }
  }
  return text;
}

}  // namespace

std::string FailureHint(const CompilePlan& plan, std::string_view log) {
  if (NamesSeveral(plan.architecture)) {
    return "--arch takes one architecture, such as sm_90: run a build for each";
  }
  if (NamesUnknownOption(log)) {
    return "this toolchain's compiler has no such option: leave it out, or name another toolchain "
           "with --toolchain (`cccl-cache-cli toolchains` lists them)";
  }
  if (plan.compiler == Compiler::kNvJitLink) {
    if (std::string hint = LinkHint(plan, log); !hint.empty()) return hint;
  }
  if (!Has(log, "arch")) return "";
  const std::string number = NumberOf(plan.architecture);
  const bool is_virtual = IsArchitecture(plan.architecture, "compute_");
  if (plan.compiler == Compiler::kNvvm) {
    return is_virtual ? "" : "libNVVM takes --arch compute_" + number;
  }
  if (!is_virtual && !IsArchitecture(plan.architecture, "sm_")) {
    return "--arch is written sm_" + number + ", or compute_" + number + " for PTX alone";
  }
  if (!Has(log, "--gpu-architecture")) return "";
  return "this toolchain knows no " + plan.architecture +
         ": `cccl-cache-cli toolchains` lists those of each toolchain";
}

int Report(const BuildResult& result, const CompilePlan& plan, const CommonOptions& common,
           std::chrono::microseconds time) {
  if (!result.compiled() || !common.json) ShowText(result.log());
  if (!result.compiled()) ExplainFailure(result, plan);
  const Expected<Done> written = result.compiled() ? WriteArtifact(result, plan) : Done{};
  if (!written.ok()) Complain(written.error().message);
  if (result.compiled() && written.ok() && plan.summary != Summary::kNone) {
    ShowText(SummaryOf(result, plan, time));
  }
  const int printed = common.json ? Print(Json(result, written)) : kDone;
  if (!result.compiled()) return kDoesNotCompile;
  return written.ok() ? printed : kOther;
}

}  // namespace cccl_cache::cli

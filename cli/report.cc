// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "cli/compile_options.h"
#include "cli/error_report.h"
#include "cli/failure_hint.h"
#include "cli/files.h"
#include "cli/json_writer.h"

namespace cccl_cache::cli {
namespace {

std::string Hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kDigits[byte & 0xf]);
  }
  return text;
}

void WriteArtifacts(const BuildResult& result, JsonWriter* json) {
  json->Key("artifacts").BeginArray();
  for (const Artifact& artifact : result.artifacts()) {
    const auto kind = static_cast<cccl_cache_artifact_kind>(artifact.kind);
    json->BeginObject();
    json->Key("kind").String(cccl_cache_artifact_kind_name(kind));
    json->Key("size").Integer(static_cast<int64_t>(artifact.contents.size()));
    json->Key("sha256").String(Hexadecimal(artifact.sha256));
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
  JsonWriter json;
  json.BeginObject();
  json.Key("key").String(result.key());
  json.Key("fingerprint").String(result.fingerprint());
  json.Key("outcome").String(cccl_cache_outcome_name(info.outcome));
  json.Key("tier").String(result.tier());
  json.Key("toolchain").BeginObject();
  json.Key("id").String(result.toolchain_id());
  json.Key("version").String(result.toolchain_version());
  json.EndObject();
  WriteArtifacts(result, &json);
  json.Key("log").String(result.log());
  json.Key("timing").BeginObject();
  json.Key("total_us").Integer(static_cast<int64_t>(info.total_us));
  json.Key("queue_us").Integer(static_cast<int64_t>(info.queue_us));
  json.Key("compile_us").Integer(static_cast<int64_t>(info.compile_us));
  json.EndObject();
  json.Key("precompiled_headers").Boolean(info.precompiled_headers != 0);
  json.Key("remembered").Boolean(info.remembered != 0);
  json.Key("native_code").Integer(info.native_code);
  json.Key("reason").String(result.reason());
  if (!written.ok()) WriteError(written.error(), &json);
  return json.EndObject().Finish();
}

// The compiler's own words, as they are.
void ShowLog(std::string_view log) {
  std::string text(log);
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  // Nowhere to say that stderr can't be written to.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void ExplainFailure(const BuildResult& result, const CompilePlan& plan) {
  const bool silent = result.log().empty();
  if (silent) Complain("does not compile: " + std::string(result.reason()));
  const std::string hint = FailureHint(plan, silent ? result.reason() : result.log());
  if (!hint.empty()) Complain(hint);
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
          ": another --arch (compute_NN for PTX, sm_NN for a cubin) or another --emit does"};
}

}  // namespace

int Report(const BuildResult& result, const CompilePlan& plan, const CommonOptions& common) {
  if (!result.compiled() || !common.json) ShowLog(result.log());
  if (!result.compiled()) ExplainFailure(result, plan);
  const Expected<Done> written = result.compiled() ? WriteArtifact(result, plan) : Done{};
  if (!written.ok()) Complain(written.error().message);
  const int printed = common.json ? Print(Json(result, written)) : kDone;
  if (!result.compiled()) return kDoesNotCompile;
  return written.ok() ? printed : kOther;
}

}  // namespace cccl_cache::cli

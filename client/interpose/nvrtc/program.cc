// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/nvrtc/program.h"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/interpose/nvrtc/functions.h"
#include "client/interpose/real_library.h"

namespace cccl_cache::interpose {
namespace {

cccl_cache_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }
std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }

std::vector<cccl_cache_bytes> BytesOf(const std::vector<std::string>& texts) {
  std::vector<cccl_cache_bytes> bytes(texts.size());
  std::ranges::transform(texts, bytes.begin(), Bytes);
  return bytes;
}

bool IsEmptyDirectory(const std::string& path) {
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return false;
  int entries = 0;
  while (const dirent* const entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") ++entries;
  }
  closedir(directory);
  return entries == 0;
}

/// Returns whether an option names a directory for the library's own headers that has files
/// already. The real library would use these files, and they may differ from its own headers. It
/// also makes a missing directory, so that one counts too.
bool NamesUsedDirectory(const std::string& option) {
  const size_t name = option.find("--use-bundled-headers");
  if (name == std::string::npos) return false;
  const size_t value = option.find('=', name);
  return value == std::string::npos || !IsEmptyDirectory(option.substr(value + 1));
}

}  // namespace

NvrtcProgram::NvrtcProgram(const char* source, const char* name, std::vector<Header> headers)
    : source_(source),
      name_(name == nullptr ? std::nullopt : std::optional<std::string>(name)),
      headers_(std::move(headers)) {}

NvrtcProgram::~NvrtcProgram() {
  if (real_ != nullptr) REAL(nvrtcDestroyProgram)(&real_);
}

NvrtcResult NvrtcProgram::AddNameExpression(const char* expression) {
  expressions_.emplace_back(expression);
  return kSuccess;
}

NvrtcResult NvrtcProgram::Compile(int count, const char* const* options) {
  CountedCall call;
  const bool misused = count < 0 || (count > 0 && options == nullptr) ||
                       std::find(options, options + count, nullptr) != options + count;
  std::optional<Reason> forwarded = Reason::kNotServed;
  // A second compile keeps some outputs of the first one, so the real library must do both
  // compiles. Forward() repeats the first one there.
  if (!compiled() && !misused) {
    forwarded = CompileInDaemon({options, options + count});
  }
  if (!forwarded) return code_;
  call.Forward(*forwarded);
  return CompileInReal(count, options);
}

std::optional<Reason> NvrtcProgram::CompileInDaemon(const std::vector<std::string>& options) {
  const char* const appended = std::getenv("NVRTC_APPEND_FLAGS");
  if (std::ranges::any_of(options, NamesUsedDirectory) ||
      (appended != nullptr && NamesUsedDirectory(appended))) {
    return Reason::kNotServed;
  }
  const std::vector<cccl_cache_bytes> option_bytes = BytesOf(options);
  const std::vector<cccl_cache_bytes> expressions = BytesOf(expressions_);
  std::vector<cccl_cache_header> headers;
  for (const Header& each : headers_) headers.push_back({Bytes(each.name), Bytes(each.contents)});
  cccl_cache_nvrtc program = {};
  program.struct_size = sizeof(program);
  program.source = Bytes(source_);
  if (name_) program.name = Bytes(*name_);
  program.options = option_bytes.data();
  program.option_count = option_bytes.size();
  program.headers = headers.data();
  program.header_count = headers.size();
  program.name_expressions = expressions.data();
  program.name_expression_count = expressions.size();
  auto answer = Ask(program);
  if (const Reason* why = std::get_if<Reason>(&answer)) return *why;
  auto [result, info] = std::get<Answer>(std::move(answer));
  // NVRTC's log quotes the invalid option. The daemon passes options in another spelling than the
  // program, so the real library must write this log.
  if (info.native_code == kInvalidOption) return Reason::kNotServed;
  Take(std::move(result), info);
  compiled_ = options;
  return std::nullopt;
}

void NvrtcProgram::Take(Result result, const cccl_cache_result_info& info) {
  Count(info);
  code_ = static_cast<NvrtcResult>(info.native_code);
  log_ = View(info.log);
  for (size_t i = 0; i < info.artifact_count; ++i) {
    cccl_cache_artifact artifact = {};
    artifact.struct_size = sizeof(artifact);
    cccl_cache_result_artifact(result.get(), i, &artifact);
    artifacts_[artifact.kind] = View(artifact.contents);
  }
  for (size_t i = 0; i < info.lowered_name_count; ++i) {
    cccl_cache_lowered_name name = {};
    name.struct_size = sizeof(name);
    cccl_cache_result_lowered_name(result.get(), i, &name);
    lowered_.emplace(View(name.expression), View(name.lowered));
  }
  result_ = std::move(result);
}

NvrtcResult NvrtcProgram::Forward() {
  if (real_ != nullptr) return kSuccess;
  if (REAL(nvrtcCreateProgram) == nullptr) return kInternalError;
  std::vector<const char*> contents;
  std::vector<const char*> names;
  for (const Header& each : headers_) {
    contents.push_back(each.contents.c_str());
    names.push_back(each.name.c_str());
  }
  NvrtcResult code =
      REAL(nvrtcCreateProgram)(&real_, source_.c_str(), name_ ? name_->c_str() : nullptr,
                               static_cast<int>(names.size()), contents.data(), names.data());
  for (size_t i = 0; code == kSuccess && i < expressions_.size(); ++i) {
    code = REAL(nvrtcAddNameExpression)(real_, expressions_[i].c_str());
  }
  if (code != kSuccess || !compiled()) return code;
  std::vector<const char*> options;
  for (const std::string& each : *compiled_) options.push_back(each.c_str());
  REAL(nvrtcCompileProgram)(real_, static_cast<int>(options.size()), options.data());
  return kSuccess;
}

NvrtcResult NvrtcProgram::CompileInReal(int count, const char* const* options) {
  const NvrtcResult made = Forward();
  return made != kSuccess ? made : REAL(nvrtcCompileProgram)(real_, count, options);
}

std::string_view NvrtcProgram::Artifact(cccl_cache_artifact_kind kind) const {
  const auto found = artifacts_.find(kind);
  return found == artifacts_.end() ? std::string_view() : found->second;
}

const char* NvrtcProgram::LoweredName(const char* expression) const {
  const auto found = lowered_.find(std::string_view(expression));
  return found == lowered_.end() ? nullptr : found->second.data();  // NUL-terminated
}

}  // namespace cccl_cache::interpose

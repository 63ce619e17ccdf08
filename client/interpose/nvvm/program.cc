// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/nvvm/program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <variant>

#include "client/interpose/nvvm/functions.h"
#include "client/interpose/real_library.h"

namespace cccl_cache::interpose {
namespace {

constexpr NvvmResult kSuccess = 0;

cccl_cache_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }
std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }

NvvmResult CompileInReal(NvvmHandle program, int count, const char** options) {
  return REAL(nvvmCompileProgram)(program, count, options);
}

}  // namespace

void NvvmProgram::Added(const char* contents, size_t size, const char* name, bool lazy) {
  // The real library gives a module without a name one of its own.
  if (name == nullptr) unusual_ = true;
  if (unusual_ || compiled_) return;
  modules_.push_back({name, std::string(contents, size), lazy});
}

NvvmResult NvvmProgram::Compile(int count, const char** options) {
  CountedCall call;
  std::optional<Reason> forwarded = Reason::kNotServed;
  const bool misused = count < 0 || (count > 0 && options == nullptr) ||
                       std::find(options, options + count, nullptr) != options + count;
  // LTO-IR names the producer, and the daemon's compilers do not have this variable.
  const bool has_producer = std::getenv("LLVM_OVERRIDE_PRODUCER") != nullptr;
  Forward();
  if (!compiled_ && !misused && !unusual_ && !has_producer && !modules_.empty()) {
    options_.assign(options, options + count);
    forwarded = CompileInDaemon();
  }
  compiled_ = true;
  served_ = !forwarded;
  if (!forwarded) return kSuccess;
  call.Forward(*forwarded);
  return CompileInReal(real_, count, options);
}

std::optional<Reason> NvvmProgram::CompileInDaemon() {
  std::vector<cccl_cache_nvvm_module> modules;
  std::vector<cccl_cache_bytes> options;
  for (const Module& each : modules_) {
    modules.push_back({Bytes(each.name), Bytes(each.contents), each.lazy ? 1 : 0});
  }
  for (const std::string& each : options_) options.push_back(Bytes(each));
  cccl_cache_nvvm program = {};
  program.struct_size = sizeof(program);
  program.modules = modules.data();
  program.module_count = modules.size();
  program.options = options.data();
  program.option_count = options.size();
  auto answer = Ask(program);
  if (const Reason* why = std::get_if<Reason>(&answer)) return *why;
  auto [result, info] = std::get<Answer>(std::move(answer));
  // The real library has the program too, so it repeats a failing compile with its own log.
  if (info.native_code != kSuccess || info.artifact_count != 1) return Reason::kNotServed;
  Count(info);
  log_ = View(info.log);
  cccl_cache_artifact artifact = {};
  artifact.struct_size = sizeof(artifact);
  cccl_cache_result_artifact(result.get(), 0, &artifact);
  output_ = View(artifact.contents);
  // The real library counts the NUL after PTX. The client stores one after each artifact.
  if (artifact.kind == CCCL_CACHE_PTX) output_ = {output_.data(), output_.size() + 1};
  result_ = std::move(result);
  return std::nullopt;
}

void NvvmProgram::Forward() {
  if (!std::exchange(served_, false)) return;
  std::vector<const char*> options;
  for (const std::string& each : options_) options.push_back(each.c_str());
  CompileInReal(real_, static_cast<int>(options.size()), options.data());
}

}  // namespace cccl_cache::interpose

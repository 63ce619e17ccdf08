// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Explain requests. A refused request has a reason, and an accepted one keeps the limits. The
// result does not depend on the division of the bytes into pieces.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/service/calls/explain_call.h"
#include "tests/fuzz/seeds.h"

namespace {

namespace v1 = cccl_cache::v1;
using cccl_cache::daemon::ExplainQuestion;
using cccl_cache::daemon::Result;
using cccl_cache::daemon::ServiceLimits;

ServiceLimits Limits() {
  ServiceLimits limits;
  limits.headers = 8;
  limits.options = 8;
  limits.source_bytes = 4096;
  return limits;
}

Result<ExplainQuestion> Read(std::string_view bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    slices.emplace_back(part.data(), part.size());
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  return ReadExplainRequest(buffer, Limits(), [](const auto&) { return nullptr; });
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  v1::ExplainRequest key;
  key.set_key(std::string(64, 'a'));
  v1::ExplainRequest build;
  auto& program = *build.mutable_build()->mutable_nvrtc();
  program.mutable_source()->set_inline_bytes("__global__ void f() {}");
  program.add_options("-arch=sm_90");
  program.add_headers()->set_name("a.h");
  return {key.SerializeAsString(), build.SerializeAsString()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto question = Read(bytes, std::max<size_t>(size, 1));
  assert(Read(bytes, 3).ok() == question.ok());
  if (!question.ok()) {
    assert(!question.error().message.empty());
    return 0;
  }
  assert(question->key.has_value() == (question->build.request == nullptr));
  assert(question->build.bytes <= Limits().source_bytes + size);
  if (question->key) return 0;
  const auto* program = std::get_if<cccl_cache::NvrtcProgram>(&question->build.request->program);
  assert(program == nullptr || program->headers.size() <= Limits().headers);
  return 0;
}

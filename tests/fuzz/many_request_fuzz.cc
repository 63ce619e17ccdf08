// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Messages of BuildMany. A refused message has a reason, for the call or for one build. An accepted
// one keeps the limits. The result does not depend on the division of the bytes into pieces.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/messages.h"
#include "daemon/service/wire/stream_messages.h"
#include "tests/fuzz/seeds.h"

namespace {

namespace v1 = cccl_cache::v1;
using cccl_cache::daemon::ConvertedRequest;
using cccl_cache::daemon::ManyRequest;
using cccl_cache::daemon::Result;
using cccl_cache::daemon::ServiceLimits;

ServiceLimits Limits() {
  ServiceLimits limits;
  limits.headers = 8;
  limits.options = 8;
  limits.source_bytes = 4096;
  return limits;
}

/// The decoded message, and its build if it has one.
struct Read {
  Result<ManyRequest> request;
  std::optional<Result<ConvertedRequest>> build = {};
};

Read ReadIn(size_t piece, std::string_view bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    slices.emplace_back(part.data(), part.size());
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  Read read{cccl_cache::daemon::ReadManyRequest(buffer)};
  if (!read.request.ok() || read.request->cancel) return read;
  const cccl_cache::daemon::BufferPieces pieces(buffer);
  cccl_cache::ProtoReader message(pieces.views());
  read.build = ReadOfMany(message, Limits(), [](const auto&) { return nullptr; });
  return read;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  v1::BuildManyRequest cancel;
  cancel.set_tag(300);
  cancel.set_cancel(true);
  v1::BuildManyRequest build;
  build.set_tag(7);
  auto& program = *build.mutable_build()->mutable_nvrtc();
  program.mutable_source()->set_inline_bytes("__global__ void f() {}");
  program.add_options("-arch=sm_90");
  program.add_headers()->set_name("a.h");
  v1::BuildManyRequest empty;
  empty.mutable_build();
  return {cancel.SerializeAsString(), build.SerializeAsString(), empty.SerializeAsString()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read read = ReadIn(std::max<size_t>(size, 1), bytes);
  const Read again = ReadIn(3, bytes);
  assert(again.request.ok() == read.request.ok());
  if (!read.request.ok()) {
    assert(!read.request.error().message.empty());
    return 0;
  }
  assert(again.request->tag == read.request->tag &&
         again.build.has_value() == read.build.has_value());
  if (!read.build) return 0;
  const auto& build = *read.build;
  assert(again.build->ok() == build.ok());
  if (!build.ok()) {
    assert(!build.error().message.empty());
    return 0;
  }
  assert(build->bytes <= Limits().source_bytes + size);
  const auto* program = std::get_if<cccl_cache::NvrtcProgram>(&build->request->program);
  assert(program == nullptr || program->headers.size() <= Limits().headers);
  return 0;
}

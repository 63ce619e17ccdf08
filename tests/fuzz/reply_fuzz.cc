// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A worker's output, which is read as a frame, decoded as a reply and checked.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/compile/reply.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;

constexpr uint64_t kLimit = 1 << 16;

CompileJob Job() {
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = cccl_cache::NvrtcProgram{.name_expressions = {"f", "g"}};
  CompileJob job;
  job.request = std::move(request);
  return job;
}

/// Returns the payload if these bytes, in pieces of this length, are one frame.
std::optional<std::string> Receive(std::string_view bytes, size_t piece) {
  ReplyBuffer buffer(kLimit);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!buffer.Append(bytes.substr(0, piece)).ok()) return std::nullopt;
  }
  if (!buffer.complete()) return std::nullopt;
  return buffer.TakePayload();
}

/// Checks the properties of every accepted reply.
void CheckBelieved(const WorkerReply& reply) {
  assert(!reply.succeeded || !reply.parts.empty());
  assert(reply.succeeded || reply.parts.empty());
  std::set<cccl_cache::ArtifactKind> kinds;
  for (const WorkerReply::Part& part : reply.parts) {
    assert(!part.bytes.empty() && kinds.insert(part.kind).second);
  }
  std::set<std::string> expressions;
  for (const auto& [expression, lowered] : reply.lowered_names) {
    assert((expression == "f" || expression == "g") && expressions.insert(expression).second);
  }
}

std::string Frame(const WorkerReply& reply) {
  const std::string payload = EncodeReply(reply).Joined();
  return EncodeFrameHeader(payload.size()) + payload;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  WorkerReply success{.succeeded = true,
                      .native_name = "NVRTC_SUCCESS",
                      .log = "a warning",
                      .parts = {{cccl_cache::ArtifactKind::kPtx, ".version 9.0"},
                                {cccl_cache::ArtifactKind::kCubin,
                                 "\x7f"
                                 "ELF"}},
                      .lowered_names = {{"f", "_Z1fv"}, {"g", "_Z1gv"}},
                      .peak_resident_bytes = 1 << 20};
  WorkerReply failure{.native_code = 6, .native_name = "NVRTC_ERROR_COMPILATION", .log = "error"};
  WorkerReply too_long{.native_code = 6, .log = std::string(1 << 16, 'x')};
  return {Frame(success), Frame(failure), Frame(too_long)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto payload = Receive(bytes, std::max<size_t>(size, 1));
  // Pieces of 7 bytes have boundaries in the header and in the payload.
  assert(Receive(bytes, 7) == payload);
  if (!payload) return 0;
  assert(payload->size() == size - kFrameHeaderBytes && payload->size() <= kLimit);
  const Result<WorkerReply> reply = DecodeReply(*payload);
  if (reply.ok() && CheckReply(Job(), *reply).ok()) CheckBelieved(*reply);
  return 0;
}

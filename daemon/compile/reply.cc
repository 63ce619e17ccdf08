// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxNativeName = 128;

bool CanMake(BuildKind kind, ArtifactKind part) {
  switch (kind) {
    case BuildKind::kNvrtc:
      return true;
    case BuildKind::kLink:
      return part == ArtifactKind::kCubin || part == ArtifactKind::kPtx;
    case BuildKind::kNvvm:
      return part == ArtifactKind::kPtx || part == ArtifactKind::kLtoIr;
  }
  return false;
}

bool PartsPossible(const CompileJob& job, const WorkerReply& reply) {
  if (reply.succeeded && reply.parts.empty()) return false;
  return std::ranges::all_of(reply.parts, [&](const WorkerReply::Part& part) {
    return !part.bytes.empty() && CanMake(job.request->kind(), part.kind);
  });
}

/// Returns whether each lowered name was asked for and occurs once.
bool NamesPossible(const CompileJob& job, const WorkerReply& reply) {
  if (reply.lowered_names.empty()) return true;
  const auto* program = std::get_if<NvrtcProgram>(&job.request->program);
  if (program == nullptr) return false;
  std::unordered_set<std::string_view> asked(program->name_expressions.begin(),
                                             program->name_expressions.end());
  return std::ranges::all_of(reply.lowered_names,
                             [&](const auto& name) { return asked.erase(name.first) == 1; });
}

bool NamePrintable(const std::string& name) {
  return name.size() <= kMaxNativeName &&
         std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

Error Impossible(const char* what) {
  return Error{ErrorCode::kWorkerCrashed,
               std::string("the worker's answer is impossible: ") + what};
}

}  // namespace

Status ReplyBuffer::Append(std::string_view bytes) {
  if (!header_known_) {
    Status header = AppendHeader(bytes);
    if (!header || !header_known_) return header;
  }
  if (bytes.size() > length_ - payload_.size()) {
    return Error{ErrorCode::kWorkerCrashed, "the worker said more than its answer"};
  }
  payload_.append(bytes);
  return Ok{};
}

Status ReplyBuffer::AppendHeader(std::string_view& bytes) {
  const size_t wanted = std::min(bytes.size(), kFrameHeaderBytes - header_.size());
  header_.append(bytes.substr(0, wanted));
  bytes.remove_prefix(wanted);
  if (header_.size() < kFrameHeaderBytes) return Ok{};
  const Result<uint64_t> length = DecodeFrameHeader(header_);
  if (!length) return length.error();
  if (*length > max_payload_bytes_) {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("the result of {} bytes is larger than the {} that the daemon takes "
                             "from a compiler: make the program smaller",
                             *length, max_payload_bytes_)};
  }
  if (reserve_) {
    if (const Status reserved = reserve_(*length); !reserved) return reserved.error();
  }
  payload_.reserve(*length);
  length_ = *length;
  header_known_ = true;
  return Ok{};
}

std::string ReplyBuffer::TakePayload() {
  assert(complete());
  return std::exchange(payload_, {});
}

Status CheckReply(const CompileJob& job, const WorkerReply& reply) {
  if (!PartsPossible(job, reply)) return Impossible("its outputs");
  if (!NamesPossible(job, reply)) return Impossible("its lowered names");
  if (!NamePrintable(reply.native_name)) return Impossible("the name of its result");
  return Ok{};
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/reply_check.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <variant>

namespace cccl_cache::daemon {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::BuildKind;
using cccl_cache::NvrtcProgram;

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

/// Each name is one that was asked for, and stands there once.
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

Status CheckReply(const CompileJob& job, const WorkerReply& reply) {
  if (!PartsPossible(job, reply)) return Impossible("its outputs");
  if (!NamesPossible(job, reply)) return Impossible("its lowered names");
  if (!NamePrintable(reply.native_name)) return Impossible("the name of its result");
  return Ok{};
}

}  // namespace cccl_cache::daemon

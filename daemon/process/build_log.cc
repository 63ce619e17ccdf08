// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/build_log.h"

#include <string>

namespace cccl_cache::daemon {
namespace {

std::string_view NameOf(cccl_cache::BuildKind kind) {
  switch (kind) {
    case cccl_cache::BuildKind::kNvrtc:
      return "nvrtc";
    case cccl_cache::BuildKind::kLink:
      return "link";
    case cccl_cache::BuildKind::kNvvm:
      return "nvvm";
  }
  return "";
}

std::string_view NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHit:
      return "hit";
    case Outcome::kBuilt:
      return "built";
    case Outcome::kJoined:
      return "joined";
    case Outcome::kUncacheable:
      return "uncacheable";
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

std::string_view NameOf(TierName tier) {
  switch (tier) {
    case TierName::kNone:
      return "none";
    case TierName::kMemory:
      return "memory";
    case TierName::kDisk:
      return "disk";
    case TierName::kRemote:
      return "remote";
    case TierName::kArena:
      return "arena";
  }
  return "";
}

void LogAnswer(Log& log, const BuildRecord& record, const BuildAnswer& answer) {
  const LogLevel level = answer.outcome == Outcome::kHit ? LogLevel::kDebug : LogLevel::kInfo;
  if (!log.Takes(level)) return;
  const std::string key = answer.key.Hex();
  log.Write(level, "build", "",
            {{"uid", int64_t{record.peer.uid}},
             {"pid", int64_t{record.peer.pid}},
             {"kind", NameOf(record.kind)},
             {"outcome", NameOf(answer.outcome)},
             {"tier", NameOf(answer.tier)},
             {"key", key},
             {"toolchain", answer.toolchain_version},
             {"native_code", int64_t{answer.native_code}},
             {"remembered", int64_t{answer.remembered}},
             {"queue_us", int64_t{answer.queue_time.count()}},
             {"compile_us", int64_t{answer.compile_time.count()}},
             {"total_us", int64_t{record.total_time.count()}}});
}

}  // namespace

void LogBuild(Log& log, const BuildRecord& record) {
  if (record.result.ok()) {
    LogAnswer(log, record, *record.result);
    return;
  }
  log.Write(LogLevel::kInfo, "build", "",
            {{"uid", int64_t{record.peer.uid}},
             {"pid", int64_t{record.peer.pid}},
             {"kind", NameOf(record.kind)},
             {"outcome", "error"},
             {"error", Name(record.result.error().code)},
             {"total_us", int64_t{record.total_time.count()}}});
}

}  // namespace cccl_cache::daemon

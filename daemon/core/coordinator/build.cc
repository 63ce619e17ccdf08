// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/build.h"

namespace cccl_cache::daemon {

std::string_view NameOf(BuildKind kind) {
  switch (kind) {
    case BuildKind::kNvrtc:
      return "nvrtc";
    case BuildKind::kLink:
      return "link";
    case BuildKind::kNvvm:
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
    case TierName::kShelf:
      return "shelf";
  }
  return "";
}

}  // namespace cccl_cache::daemon

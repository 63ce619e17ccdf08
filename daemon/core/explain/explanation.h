// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/explain/build_difference.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Why a build is, or was, compiled. Sent: values never change; the same numbers as in admin.proto.
enum class Verdict : uint8_t {
  kHit = 1,          ///< it is not: `tier` has it
  kNeverSeen = 2,    ///< no earlier build of this user's resembles it
  kDiffers = 3,      ///< from the nearest earlier build in `differences`
  kEvicted = 4,      ///< its entry was dropped at `since` to keep within the limit
  kCorrupt = 5,      ///< its entry did not verify at `since`
  kShadowCheck = 6,  ///< its entry was dropped at `since`: its compiler made something else
  kUncacheable = 7,  ///< `reason` says why it is never kept
  kFailed = 8,       ///< it does not compile: `reason`
  kNotKept = 9,      ///< it was built before, and its entry is gone
  /// No build of this user's that is remembered has this key, nor any artifact that it was given.
  kUnknownKey = 10,
};

/// An earlier build, to name it.
struct EarlierBuild {
  cccl_cache::Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::chrono::system_clock::time_point time;
};

/// The answer to `explain`.
struct Explanation {
  Verdict verdict = Verdict::kNeverSeen;
  TierName tier = TierName::kNone;  ///< where the artifact lies now
  std::string reason;
  /// When the entry went; of a key that nothing happened to: when it was compiled.
  std::optional<std::chrono::system_clock::time_point> since;
  std::optional<EarlierBuild> nearest;
  std::vector<Difference> differences;  ///< the most telling ones
  size_t more_differences = 0;          ///< that were left out
};

}  // namespace cccl_cache::daemon

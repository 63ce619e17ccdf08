// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon {

/// The result of looking for one artifact in a tier. Sent over the wire: values never change, and
/// are those in admin.proto.
enum class TierFinding : uint8_t {
  kHasIt = 1,
  kNoEntry = 2,
  kRefused = 3,        ///< its entry is not taken: `reason` says why
  kNoAnswer = 4,       ///< not within the time that a build waits: `reason` says why
  kNotConnected = 5,   ///< `reason` says why, with the way out
  kNotConfigured = 6,  ///< there is no such tier
  kNotAsked = 7,       ///< `reason` says why
};

/// One tier's finding in an explanation.
struct TierLook {
  TierName tier = TierName::kNone;
  TierFinding finding = TierFinding::kNoEntry;
  std::string reason = {};
};

}  // namespace cccl_cache::daemon

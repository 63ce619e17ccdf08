// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon {

/// What the disk tier knows about one entry without reading it.
struct UsageRecord {
  uint64_t bytes = 0;  ///< what the entry counts against the limit
  std::chrono::microseconds compile_time{0};
  std::chrono::sys_seconds last_use{};
  uint64_t hits = 0;  ///< that the disk tier answered
};

/// How much it is worth to keep the entry: microseconds of compiling saved per byte, less the
/// longer nobody asked. The lowest goes first.
[[nodiscard]] double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now);

/// docs/entry-format.md has the layouts. Decoders give none for anything but exactly what was
/// encoded.
[[nodiscard]] std::string EncodeUsage(const UsageRecord& record);
[[nodiscard]] std::optional<UsageRecord> DecodeUsage(std::string_view bytes);
[[nodiscard]] std::string EncodeTotals(const TierSize& totals);
[[nodiscard]] std::optional<TierSize> DecodeTotals(std::string_view bytes);

}  // namespace cccl_cache::daemon

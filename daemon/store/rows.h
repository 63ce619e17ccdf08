// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Rows of one user stand together, ascending by key. docs/internals/entry-format.md has the
/// layouts.
[[nodiscard]] std::string UserRowKey(uid_t uid, const Digest& key);
/// What the keys of a user's rows begin with; itself the key of a row about all of them.
[[nodiscard]] std::string UserRowPrefix(uid_t uid);
/// None: it is no such prefix, with or without what follows.
[[nodiscard]] std::optional<uid_t> UserOfRow(std::string_view row_key);
/// None: the row is about all of a user's.
[[nodiscard]] std::optional<Digest> KeyOfRow(std::string_view row_key);

/// What lies in a row besides the key.
[[nodiscard]] std::string EncodeAnswered(const AnsweredBuild& build);
/// None for anything but what was encoded. The key is for the caller to fill in.
[[nodiscard]] std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes);

/// What is known of a private entry without reading it, or of all of a user's: the sum and the
/// last. docs/internals/entry-format.md has the layouts.
struct PrivateUsage {
  uint64_t bytes = 0;       ///< what it counts against the limits
  uint64_t generation = 0;  ///< which insertion it came with: greater ones are later
};

[[nodiscard]] std::string EncodePrivateUsage(const PrivateUsage& usage);
/// None for anything but what was encoded.
[[nodiscard]] std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes);

/// A user's rows of this kind stand in the order of insertion.
[[nodiscard]] std::string OrderRowKey(uid_t uid, uint64_t generation, const Digest& key);

struct OrderRow {
  uint64_t generation = 0;
  Digest key;
};
/// None for anything but the key of such a row.
[[nodiscard]] std::optional<OrderRow> DecodeOrderRow(std::string_view row_key);

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

/// docs/internals/entry-format.md has the layouts. Decoders give none for anything but exactly what
/// was encoded.
[[nodiscard]] std::string EncodeUsage(const UsageRecord& record);
[[nodiscard]] std::optional<UsageRecord> DecodeUsage(std::string_view bytes);
[[nodiscard]] std::string EncodeTotals(const TierSize& totals);
[[nodiscard]] std::optional<TierSize> DecodeTotals(std::string_view bytes);

}  // namespace cccl_cache::daemon

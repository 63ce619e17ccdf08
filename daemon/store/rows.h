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
#include "daemon/store/database.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The finding about one entry. One that is gone by then is sound.
enum class Soundness : uint8_t { kSound, kBroken, kUnreadable };

/// Reads the entry of a row from the disk and judges it. Does not keep it in memory.
[[nodiscard]] Soundness VerifyEntry(Database& database, Column column, std::string_view row_key,
                                    const Digest& key);

/// Stands for all users together: no user has this uid.
inline constexpr uid_t kAll = static_cast<uid_t>(-1);

/// The rows of one user are neighbours, ascending by key. docs/internals/entry-format.md has the
/// layouts.
[[nodiscard]] std::string UserRowKey(uid_t uid, const Digest& key);
/// Returns the prefix of the keys of a user's rows. The prefix itself is the key of a row about all
/// of them.
[[nodiscard]] std::string UserRowPrefix(uid_t uid);
/// Returns the uid at the beginning of a row key, or none if it has no such prefix.
[[nodiscard]] std::optional<uid_t> UserOfRow(std::string_view row_key);
/// Returns the key of a row, or none if the row is about all of a user's rows.
[[nodiscard]] std::optional<Digest> KeyOfRow(std::string_view row_key);

/// Returns the value of a row: all but the key.
[[nodiscard]] std::string EncodeAnswered(const AnsweredBuild& build);
/// Returns none for anything but the output of EncodeAnswered. The caller fills in the key.
[[nodiscard]] std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes);

/// The usage record of a private entry; or of all entries of a user, with the sum of bytes and the
/// last generation. docs/internals/entry-format.md has the layouts.
struct PrivateUsage {
  uint64_t bytes = 0;       ///< bytes that count against the limits
  uint64_t generation = 0;  ///< number of the insertion; later ones are greater
};

[[nodiscard]] std::string EncodePrivateUsage(const PrivateUsage& usage);
/// Returns none for anything but the output of EncodePrivateUsage.
[[nodiscard]] std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes);

/// Rows of this kind are in the order of insertion for each user.
[[nodiscard]] std::string OrderRowKey(uid_t uid, uint64_t generation, const Digest& key);

struct OrderRow {
  uint64_t generation = 0;
  Digest key;
};
/// Returns none for anything but the key of such a row.
[[nodiscard]] std::optional<OrderRow> DecodeOrderRow(std::string_view row_key);

/// The usage record of one entry on disk, which is read without the entry.
struct UsageRecord {
  uint64_t bytes = 0;  ///< bytes that count against the limit
  std::chrono::microseconds compile_time{0};
  std::chrono::sys_seconds last_use{};
  uint64_t hits = 0;  ///< hits that the disk tier answered
};

/// Returns how much it is worth to keep the entry: microseconds of compile time saved per byte,
/// less the longer the entry is idle. The lowest value is evicted first.
[[nodiscard]] double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now);

/// docs/internals/entry-format.md has the layouts. Decoders return none for anything but the exact
/// output of the encoder.
[[nodiscard]] std::string EncodeUsage(const UsageRecord& record);
[[nodiscard]] std::optional<UsageRecord> DecodeUsage(std::string_view bytes);
[[nodiscard]] std::string EncodeTotals(const TierSize& totals);
[[nodiscard]] std::optional<TierSize> DecodeTotals(std::string_view bytes);

}  // namespace cccl_cache::daemon

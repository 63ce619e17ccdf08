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

/// The result of verifying one entry. An entry that is gone counts as sound.
enum class Soundness : uint8_t { kSound, kBroken, kUnreadable };

/// Reads and verifies the entry of a row. Does not keep it in memory.
[[nodiscard]] Soundness VerifyEntry(Database& database, Column column, std::string_view row_key,
                                    const Digest& key);

/// The uid of rows about all users together; no user has it.
inline constexpr uid_t kAll = static_cast<uid_t>(-1);

/// Returns the key of a user's row. Rows of one user are neighbours, ascending by key. See
/// docs/internals/entry-format.md.
[[nodiscard]] std::string UserRowKey(uid_t uid, const Digest& key);
/// Returns the prefix of the keys of a user's rows. The prefix itself is the key of the row with
/// the user's total.
[[nodiscard]] std::string UserRowPrefix(uid_t uid);
/// Returns the uid of a row key, or none if it is too short.
[[nodiscard]] std::optional<uid_t> UserOfRow(std::string_view row_key);
/// Returns the digest of a row key, or none for the row with the user's total.
[[nodiscard]] std::optional<Digest> KeyOfRow(std::string_view row_key);

/// Returns the row's value: all of the build but its key.
[[nodiscard]] std::string EncodeAnswered(const AnsweredBuild& build);
/// Returns none for anything but the output of EncodeAnswered. Does not set the key.
[[nodiscard]] std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes);

/// The usage record of a private entry.
struct PrivateUsage {
  uint64_t bytes = 0;       ///< of the entry on the disk
  uint64_t generation = 0;  ///< number of the insertion; later ones are greater
};

[[nodiscard]] std::string EncodePrivateUsage(const PrivateUsage& usage);
/// Returns none for anything but the output of EncodePrivateUsage.
[[nodiscard]] std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes);

/// The usage record of one entry on disk, which is read without the entry.
struct UsageRecord {
  uint64_t bytes = 0;  ///< bytes that count against the limit
  std::chrono::microseconds compile_time{0};
  std::chrono::sys_seconds last_use{};
  uint64_t hits = 0;  ///< hits answered by the disk tier
};

/// Returns the worth of keeping an entry: its compile time in microseconds per byte and per second
/// since its last use. The lowest value is evicted first.
[[nodiscard]] double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now);

/// Decoders return none for anything but the exact output of the encoder. See
/// docs/internals/entry-format.md for the layouts.
[[nodiscard]] std::string EncodeUsage(const UsageRecord& record);
[[nodiscard]] std::optional<UsageRecord> DecodeUsage(std::string_view bytes);
[[nodiscard]] std::string EncodeTotals(const TierSize& totals);
[[nodiscard]] std::optional<TierSize> DecodeTotals(std::string_view bytes);

}  // namespace cccl_cache::daemon

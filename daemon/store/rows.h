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

/// The result of checking one entry. An entry that was removed meanwhile counts as sound.
/// kUnreadable means that the read failed, so that the entry was not checked.
enum class Soundness : uint8_t { kSound, kBroken, kUnreadable };

/// Reads the entry in the row `row_key` and checks it. `key` is the key that the entry must have.
/// The entry is not put into RocksDB's cache.
[[nodiscard]] Soundness VerifyEntry(Database& database, Column column, std::string_view row_key,
                                    const Digest& key);

/// The uid in the keys of rows that are about all users together. No user has this uid.
inline constexpr uid_t kAll = static_cast<uid_t>(-1);

/// Returns the key of a user's row. The rows of one user are neighbours, in ascending order of
/// `key` (docs/internals/entry-format.md).
[[nodiscard]] std::string UserRowKey(uid_t uid, const Digest& key);
/// Returns the prefix of the keys of all rows of a user. The prefix itself is also the key of a
/// row, which has the user's total.
[[nodiscard]] std::string UserRowPrefix(uid_t uid);
/// Returns the uid in a row's key, or none if the key is too short.
[[nodiscard]] std::optional<uid_t> UserOfRow(std::string_view row_key);
/// Returns the digest in a row's key, or none if it is the key of the row with the user's total.
[[nodiscard]] std::optional<Digest> KeyOfRow(std::string_view row_key);

/// Returns the value of the row for this build. It has all members except the key, which is in the
/// row's key.
[[nodiscard]] std::string EncodeAnswered(const AnsweredBuild& build);
/// Decodes what EncodeAnswered returned. Does not set the key of the build. Returns none if the
/// bytes are malformed.
[[nodiscard]] std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes);

/// The usage record of a private entry.
struct PrivateUsage {
  uint64_t bytes = 0;       ///< size of the entry on the disk
  uint64_t generation = 0;  ///< number of the insertion; a later insertion has a greater number
};

[[nodiscard]] std::string EncodePrivateUsage(const PrivateUsage& usage);
/// Decodes what EncodePrivateUsage returned. Returns none if the bytes are malformed.
[[nodiscard]] std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes);

/// The usage record of one artifact on the disk. It has a row of its own, so that it can be read
/// without the artifact.
struct UsageRecord {
  uint64_t bytes = 0;  ///< bytes that count against the limit
  std::chrono::microseconds compile_time{0};
  std::chrono::sys_seconds last_use{};
  uint64_t hits = 0;  ///< hits answered by the disk tier
};

/// Returns the worth of keeping an entry: its compile time in microseconds per byte and per second
/// since its last use. The lowest value is evicted first.
[[nodiscard]] double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now);

/// The decoders return none if the bytes are malformed. The layouts are in
/// docs/internals/entry-format.md.
[[nodiscard]] std::string EncodeUsage(const UsageRecord& record);
[[nodiscard]] std::optional<UsageRecord> DecodeUsage(std::string_view bytes);
[[nodiscard]] std::string EncodeTotals(const TierSize& totals);
[[nodiscard]] std::optional<TierSize> DecodeTotals(std::string_view bytes);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rows.h"

#include <algorithm>
#include <cstdint>

#include "base/codec.h"
#include "daemon/core/lookup/entry.h"

namespace cccl_cache::daemon {
namespace {

//   row key  = uid key        uid: u32, big endian, so that rows are in order; key: 32 bytes
//   answered = fingerprint toolchain last toolchain_version arch
//   fingerprint, toolchain = 32 bytes, last = u64 seconds since 1970, the rest = text
//   private usage = bytes generation             u64 each
//   usage  = bytes compile_time last_use hits    u64 each
//   compile_time = microseconds, last_use = seconds since 1970
//   totals = entries bytes                       u64 each
// Integers are encoded as in base/codec.h, except in row keys. The version of these layouts is the
// version of the whole database (state_directory.cc).
constexpr size_t kPrefixBytes = sizeof(uint32_t);

std::chrono::sys_seconds TakeTime(ByteReader& reader) {
  return std::chrono::sys_seconds(std::chrono::seconds(reader.NonNegative()));
}

}  // namespace

Soundness VerifyEntry(Database& database, Column column, std::string_view row_key,
                      const Digest& key) {
  bool sound = false;
  const auto judge = [&](std::string_view entry) { sound = DecodeEntry(key, entry) != nullptr; };
  switch (database.ReadOnce(column, row_key, judge)) {
    case Database::Found::kNo:
      return Soundness::kSound;
    case Database::Found::kFailed:
      return Soundness::kUnreadable;
    case Database::Found::kYes:
    case Database::Found::kDamaged:
      break;
  }
  return sound ? Soundness::kSound : Soundness::kBroken;
}

std::string UserRowPrefix(uid_t uid) {
  std::string key;
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(uid >> shift));
  return key;
}

std::string UserRowKey(uid_t uid, const Digest& key) {
  return UserRowPrefix(uid).append(key.View());
}

std::optional<uid_t> UserOfRow(std::string_view row_key) {
  if (row_key.size() < kPrefixBytes) return std::nullopt;
  uid_t uid = 0;
  for (const char byte : row_key.substr(0, kPrefixBytes)) {
    uid = uid << 8 | static_cast<uint8_t>(byte);
  }
  return uid;
}

std::optional<Digest> KeyOfRow(std::string_view row_key) {
  if (row_key.size() < kPrefixBytes) return std::nullopt;
  return Digest::FromBytes(row_key.substr(kPrefixBytes));
}

std::string EncodeAnswered(const AnsweredBuild& build) {
  return ByteWriter()
      .Bytes(build.fingerprint.View())
      .Bytes(build.toolchain.View())
      .Put<uint64_t>(build.last.time_since_epoch().count())
      .Text(build.toolchain_version)
      .Text(build.arch)
      .Joined();
}

std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes) {
  ByteReader reader(bytes);
  AnsweredBuild build;
  build.fingerprint = Digest{reader.Sha256()};
  build.toolchain = Digest{reader.Sha256()};
  build.last = TakeTime(reader);
  build.toolchain_version = reader.Text();
  build.arch = reader.Text();
  if (!reader.complete()) return std::nullopt;
  return build;
}

std::string EncodePrivateUsage(const PrivateUsage& usage) {
  return ByteWriter().Put(usage.bytes).Put(usage.generation).Joined();
}

std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes) {
  ByteReader reader(bytes);
  const PrivateUsage usage{reader.Take<uint64_t>(), reader.Take<uint64_t>()};
  if (!reader.complete()) return std::nullopt;
  return usage;
}

double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now) {
  // The compile time that is assumed for an entry without one.
  constexpr std::chrono::microseconds kAssumed = std::chrono::seconds(1);
  // After the clock was set back, the time since the last use may be negative. It counts as 1 s,
  // because otherwise the entry would stay forever.
  const double idle = static_cast<double>(std::max<int64_t>(1, (now - record.last_use).count()));
  const auto compile_time = record.compile_time.count() == 0 ? kAssumed : record.compile_time;
  const auto cost = static_cast<double>(compile_time.count());
  return cost / (static_cast<double>(std::max<uint64_t>(1, record.bytes)) * idle);
}

std::string EncodeUsage(const UsageRecord& record) {
  return ByteWriter()
      .Put(record.bytes)
      .Put<uint64_t>(record.compile_time.count())
      .Put<uint64_t>(record.last_use.time_since_epoch().count())
      .Put(record.hits)
      .Joined();
}

std::optional<UsageRecord> DecodeUsage(std::string_view bytes) {
  ByteReader reader(bytes);
  const UsageRecord record{reader.Take<uint64_t>(), std::chrono::microseconds(reader.NonNegative()),
                           TakeTime(reader), reader.Take<uint64_t>()};
  if (!reader.complete()) return std::nullopt;
  return record;
}

std::string EncodeTotals(const TierSize& totals) {
  return ByteWriter().Put(totals.entries).Put(totals.bytes).Joined();
}

std::optional<TierSize> DecodeTotals(std::string_view bytes) {
  ByteReader reader(bytes);
  const TierSize totals{reader.Take<uint64_t>(), reader.Take<uint64_t>()};
  if (!reader.complete()) return std::nullopt;
  return totals;
}

}  // namespace cccl_cache::daemon

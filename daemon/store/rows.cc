// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

//   row key  = uid key        uid: u32, big endian, so that rows are in order; key: 32 bytes
//   answered = fingerprint toolchain last toolchain_version arch
//   fingerprint, toolchain = 32 bytes, last = u64 seconds since 1970, the rest = string
//   (base/codec.h)
// Their version is that of the database's format (meta, "store.format").
constexpr size_t kPrefixBytes = sizeof(uint32_t);
constexpr size_t kDigestBytes = sizeof(Digest::bytes);

//   usage  = bytes compile_time last_use hits    u64 each, little endian
//   compile_time = microseconds, last_use = seconds since 1970
//   totals = entries bytes                       u64 each, little endian
// Their version is that of the database's format (meta, "store.format").

std::string EncodeNumbers(std::span<const uint64_t> numbers) {
  std::string bytes;
  bytes.reserve(numbers.size() * sizeof(uint64_t));
  for (const uint64_t number : numbers) {
    for (size_t i = 0; i < sizeof(number); ++i)
      bytes.push_back(static_cast<char>(number >> (8 * i)));
  }
  return bytes;
}

template <size_t kCount>
std::optional<std::array<uint64_t, kCount>> DecodeNumbers(std::string_view bytes) {
  std::array<uint64_t, kCount> numbers{};
  if (bytes.size() != kCount * sizeof(uint64_t)) return std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i) {
    numbers[i / 8] |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * (i % 8));
  }
  return numbers;
}

bool FitsSigned(uint64_t value) { return value <= std::numeric_limits<int64_t>::max(); }

}  // namespace

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
  std::string bytes(build.fingerprint.View());
  bytes.append(build.toolchain.View());
  AppendInteger(bytes, static_cast<uint64_t>(build.last.time_since_epoch().count()));
  AppendString(bytes, build.toolchain_version);
  AppendString(bytes, build.arch);
  return bytes;
}

std::optional<AnsweredBuild> DecodeAnswered(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto fingerprint = Digest::FromBytes(reader.Take(kDigestBytes).value_or(""));
  const auto toolchain = Digest::FromBytes(reader.Take(kDigestBytes).value_or(""));
  const auto last = reader.TakeInteger<uint64_t>();
  const auto version = reader.TakeString();
  const auto arch = reader.TakeString();
  if (!fingerprint || !toolchain || !last || !version || !arch || !reader.at_end()) {
    return std::nullopt;
  }
  if (*last > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  AnsweredBuild build;
  build.fingerprint = *fingerprint;
  build.toolchain = *toolchain;
  build.toolchain_version = *version;
  build.arch = *arch;
  build.last = std::chrono::sys_seconds(std::chrono::seconds(static_cast<int64_t>(*last)));
  return build;
}

std::string EncodePrivateUsage(const PrivateUsage& usage) {
  std::string bytes;
  AppendInteger(bytes, usage.bytes);
  AppendInteger(bytes, usage.generation);
  return bytes;
}

std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto size = reader.TakeInteger<uint64_t>();
  const auto generation = reader.TakeInteger<uint64_t>();
  if (!size || !generation || !reader.at_end()) return std::nullopt;
  return PrivateUsage{*size, *generation};
}

std::string OrderRowKey(uid_t uid, uint64_t generation, const Digest& key) {
  std::string row = UserRowPrefix(uid);
  // Big endian, so that rows are in order.
  for (int shift = 56; shift >= 0; shift -= 8)
    row.push_back(static_cast<char>(generation >> shift));
  return row.append(key.View());
}

std::optional<OrderRow> DecodeOrderRow(std::string_view row_key) {
  if (!UserOfRow(row_key)) return std::nullopt;
  row_key.remove_prefix(sizeof(uint32_t));
  if (row_key.size() < sizeof(uint64_t)) return std::nullopt;
  OrderRow row;
  for (const char byte : row_key.substr(0, sizeof(uint64_t))) {
    row.generation = row.generation << 8 | static_cast<uint8_t>(byte);
  }
  const auto key = Digest::FromBytes(row_key.substr(sizeof(uint64_t)));
  if (!key) return std::nullopt;
  row.key = *key;
  return row;
}

double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now) {
  // A clock that was set back must not make an entry look eternal: at least a second has always
  // passed.
  const double idle = static_cast<double>(std::max<int64_t>(1, (now - record.last_use).count()));
  const double cost = static_cast<double>(std::max<int64_t>(1, record.compile_time.count()));
  return cost / (static_cast<double>(std::max<uint64_t>(1, record.bytes)) * idle);
}

std::string EncodeUsage(const UsageRecord& record) {
  return EncodeNumbers(std::array{record.bytes, static_cast<uint64_t>(record.compile_time.count()),
                                  static_cast<uint64_t>(record.last_use.time_since_epoch().count()),
                                  record.hits});
}

std::optional<UsageRecord> DecodeUsage(std::string_view bytes) {
  const auto numbers = DecodeNumbers<4>(bytes);
  if (!numbers) return std::nullopt;
  const auto [size, compile_time, last_use, hits] = *numbers;
  if (!FitsSigned(compile_time) || !FitsSigned(last_use)) return std::nullopt;
  return UsageRecord{size, std::chrono::microseconds(compile_time),
                     std::chrono::sys_seconds(std::chrono::seconds(last_use)), hits};
}

std::string EncodeTotals(const TierSize& totals) {
  return EncodeNumbers(std::array{totals.entries, totals.bytes});
}

std::optional<TierSize> DecodeTotals(std::string_view bytes) {
  const auto numbers = DecodeNumbers<2>(bytes);
  if (!numbers) return std::nullopt;
  return TierSize{(*numbers)[0], (*numbers)[1]};
}

}  // namespace cccl_cache::daemon

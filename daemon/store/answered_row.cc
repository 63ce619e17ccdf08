// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/answered_row.h"

#include <cstdint>
#include <limits>

#include "daemon/core/model/bytes.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Digest;

//   row key  = uid key        uid: u32, big endian, so that rows are in order; key: 32 bytes
//   answered = fingerprint toolchain last toolchain_version arch
//   fingerprint, toolchain = 32 bytes, last = u64 seconds since 1970, the rest = string (bytes.h)
// Their version is that of the database's format (meta, "store.format").
constexpr size_t kPrefixBytes = sizeof(uint32_t);
constexpr size_t kDigestBytes = sizeof(Digest::bytes);

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

}  // namespace cccl_cache::daemon

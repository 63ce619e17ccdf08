// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposit.h"

#include <limits>

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 2. Integers are little endian; nothing is padded or aligned.
//
//   contents = "CCCLDEP\n" version key string checksum
//   record   = "CCCLDPR\n" version key uid scope id string fields size made used checksum
//   version  = u32                     2; a change of meaning bumps it
//   key      = 32 bytes                what it is stored under
//   uid      = u32                     who deposited it
//   scope    = u8                      1: private to the uid `id`, 2: to the group `id`
//   id       = u32
//   string   = u64 length, length bytes      the contents; the namespace
//   fields   = 32 bytes                the digest of the fields
//   size     = u64                     of the contents
//   made, used = u64                   seconds since 1970, below 2^63
//   checksum = SHA-256 of all bytes before it
constexpr std::string_view kContentsMagic = "CCCLDEP\n";
constexpr std::string_view kRecordMagic = "CCCLDPR\n";
constexpr uint32_t kVersion = 2;
constexpr size_t kDigestSize = sizeof(Digest::bytes);

std::string Begin(std::string_view magic, const Digest& key) {
  std::string bytes(magic);
  AppendInteger(bytes, kVersion);
  bytes.append(key.View());
  return bytes;
}

std::string Seal(std::string bytes) {
  bytes.append(Sha256(bytes).View());
  return bytes;
}

/// Returns the bytes between the key and the checksum; none unless magic, version, key and checksum
/// are right.
std::optional<std::string_view> Unseal(std::string_view magic, const Digest& key,
                                       std::string_view bytes) {
  if (bytes.size() < kDigestSize) return std::nullopt;
  const std::string_view sealed = bytes.substr(0, bytes.size() - kDigestSize);
  ByteReader header(sealed);
  if (header.Take(magic.size()) != magic) return std::nullopt;
  if (header.TakeInteger<uint32_t>() != kVersion) return std::nullopt;
  if (header.Take(kDigestSize) != key.View()) return std::nullopt;
  // Last, because only this check is expensive.
  if (Sha256(sealed).View() != bytes.substr(sealed.size())) return std::nullopt;
  return sealed.substr(magic.size() + sizeof(kVersion) + kDigestSize);
}

std::optional<std::chrono::sys_seconds> TakeTime(ByteReader& body) {
  const auto seconds = body.TakeInteger<uint64_t>();
  if (!seconds || *seconds > uint64_t{std::numeric_limits<int64_t>::max()}) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(*seconds));
}

uint64_t Seconds(std::chrono::sys_seconds time) {
  return static_cast<uint64_t>(time.time_since_epoch().count());
}

bool IsScope(uint8_t value) {
  switch (static_cast<DepositScope::Kind>(value)) {
    case DepositScope::Kind::kUser:
    case DepositScope::Kind::kGroup:
      return true;
  }
  return false;
}

}  // namespace

std::string EncodeDepositContents(const Digest& key, std::string_view contents) {
  std::string bytes = Begin(kContentsMagic, key);
  bytes.reserve(bytes.size() + sizeof(uint64_t) + contents.size() + kDigestSize);
  AppendString(bytes, contents);
  return Seal(std::move(bytes));
}

DepositContents DecodeDepositContents(const Digest& key_asked, std::string_view bytes) {
  const auto verified = Unseal(kContentsMagic, key_asked, bytes);
  if (!verified) return nullptr;
  ByteReader body(*verified);
  const auto contents = body.TakeString();
  if (!contents || !body.at_end()) return nullptr;
  return std::make_shared<const std::string>(*contents);
}

std::string EncodeDepositRecord(const DepositRecord& record) {
  std::string bytes = Begin(kRecordMagic, record.key);
  AppendInteger(bytes, static_cast<uint32_t>(record.uid));
  AppendInteger(bytes, static_cast<uint8_t>(record.scope.kind));
  AppendInteger(bytes, record.scope.id);
  AppendString(bytes, record.name_space);
  bytes.append(record.fields.View());
  AppendInteger(bytes, record.size);
  AppendInteger(bytes, Seconds(record.made));
  AppendInteger(bytes, Seconds(record.used));
  return Seal(std::move(bytes));
}

std::optional<DepositRecord> DecodeDepositRecord(const Digest& key_asked, std::string_view bytes) {
  const auto verified = Unseal(kRecordMagic, key_asked, bytes);
  if (!verified) return std::nullopt;
  ByteReader body(*verified);
  const auto uid = body.TakeInteger<uint32_t>();
  const auto kind = body.TakeInteger<uint8_t>();
  const auto id = body.TakeInteger<uint32_t>();
  const auto name_space = body.TakeString();
  const auto fields = Digest::FromBytes(body.Take(kDigestSize).value_or(""));
  const auto size = body.TakeInteger<uint64_t>();
  const auto made = TakeTime(body);
  const auto used = TakeTime(body);
  if (!uid || !kind || !IsScope(*kind) || !id || !name_space || !fields || !size || !made ||
      !used) {
    return std::nullopt;
  }
  if (!body.at_end()) return std::nullopt;
  return DepositRecord{.key = key_asked,
                       .uid = *uid,
                       .scope = {static_cast<DepositScope::Kind>(*kind), *id},
                       .name_space = std::string(*name_space),
                       .fields = *fields,
                       .size = *size,
                       .made = *made,
                       .used = *used};
}

}  // namespace cccl_cache::daemon

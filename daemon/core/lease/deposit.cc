// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposit.h"

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

// The format (values: base/codec.h).
//
//   contents = "CCCLDEP\n" version key text checksum
//   record   = "CCCLDPR\n" version key uid scope id text fields size made used [took] checksum
//   version  = u32                     2 of contents; 3 of a record, 2 of one without `took`
//   key      = 32 bytes                the key of the deposit
//   uid      = u32                     the user who stored it
//   scope    = u8                      1: private to the uid `id`, 2: to the group `id`,
//                                      3: to the group `id`, and fetched from another node
//   id       = u32
//   text                               the contents; the namespace
//   fields   = 32 bytes                the digest of the fields
//   size     = u64                     of the contents
//   made, used = u64                   seconds since 1970, below 2^63
//   took     = u64                     microseconds, below 2^63
//   checksum = SHA-256 of all bytes before it
constexpr std::string_view kContentsMagic = "CCCLDEP\n";
constexpr std::string_view kRecordMagic = "CCCLDPR\n";
constexpr uint32_t kContentsVersion = 2;
constexpr uint32_t kRecordVersion = 3;
constexpr uint32_t kRecordWithoutTime = 2;

enum class StoredScope : uint8_t { kUser = 1, kGroup = 2, kFetched = 3 };

StoredScope StoredScopeOf(const DepositRecord& record) {
  if (record.scope.kind == DepositScope::Kind::kUser) return StoredScope::kUser;
  return record.is_fetched ? StoredScope::kFetched : StoredScope::kGroup;
}

ByteWriter Begin(std::string_view magic, uint32_t version, const Digest& key) {
  return ByteWriter().Bytes(magic).Put(version).Bytes(key.View());
}

std::string Seal(const ByteWriter& writer) {
  std::string bytes = writer.Joined(sizeof(Digest::bytes));
  return bytes.append(Sha256(bytes).View());
}

/// Returns the bytes between the key and the checksum. None if the magic bytes, the version, the
/// key or the checksum are wrong.
std::optional<std::string_view> Unseal(std::string_view magic, uint32_t version, const Digest& key,
                                       std::string_view bytes) {
  if (bytes.size() < sizeof(Digest::bytes)) return std::nullopt;
  const std::string_view sealed = bytes.substr(0, bytes.size() - sizeof(Digest::bytes));
  ByteReader header(sealed);
  if (header.Bytes(magic.size()) != magic) return std::nullopt;
  if (header.Take<uint32_t>() != version) return std::nullopt;
  if (header.Bytes(sizeof(Digest::bytes)) != key.View()) return std::nullopt;
  // The checksum is compared last, because hashing all bytes is the only expensive check.
  if (Sha256(sealed).View() != bytes.substr(sealed.size())) return std::nullopt;
  return sealed.substr(magic.size() + sizeof(version) + sizeof(Digest::bytes));
}

std::chrono::sys_seconds TakeTime(ByteReader& body) {
  return std::chrono::sys_seconds(std::chrono::seconds(body.NonNegative()));
}

uint64_t Seconds(std::chrono::sys_seconds time) {
  return static_cast<uint64_t>(time.time_since_epoch().count());
}

}  // namespace

std::string EncodeDepositContents(const Digest& key, std::string_view contents) {
  return Seal(Begin(kContentsMagic, kContentsVersion, key).Text(contents));
}

DepositContents DecodeDepositContents(const Digest& key_asked, std::string_view bytes) {
  const auto verified = Unseal(kContentsMagic, kContentsVersion, key_asked, bytes);
  if (!verified) return nullptr;
  ByteReader body(*verified);
  const std::string_view contents = body.Text();
  if (!body.complete()) return nullptr;
  return std::make_shared<const std::string>(contents);
}

std::string EncodeDepositRecord(const DepositRecord& record) {
  return Seal(Begin(kRecordMagic, kRecordVersion, record.key)
                  .Put<uint32_t>(record.uid)
                  .Put(StoredScopeOf(record))
                  .Put<uint32_t>(record.scope.id)
                  .Text(record.name_space)
                  .Bytes(record.fields.View())
                  .Put<uint64_t>(record.size)
                  .Put(Seconds(record.made))
                  .Put(Seconds(record.used))
                  .Put(static_cast<uint64_t>(record.took.count())));
}

std::optional<DepositRecord> DecodeDepositRecord(const Digest& key_asked, std::string_view bytes) {
  auto verified = Unseal(kRecordMagic, kRecordVersion, key_asked, bytes);
  const bool has_time = verified.has_value();
  if (!has_time) verified = Unseal(kRecordMagic, kRecordWithoutTime, key_asked, bytes);
  if (!verified) return std::nullopt;
  ByteReader body(*verified);
  const auto uid = body.Take<uint32_t>();
  const StoredScope scope = body.TakeEnum(StoredScope::kUser, StoredScope::kFetched);
  using Kind = DepositScope::Kind;
  DepositRecord record{
      .key = key_asked,
      .uid = uid,
      .scope = {scope == StoredScope::kUser ? Kind::kUser : Kind::kGroup, body.Take<uint32_t>()},
      .is_fetched = scope == StoredScope::kFetched,
      .name_space = std::string(body.Text()),
      .fields = Digest{body.Sha256()},
      .size = body.Take<uint64_t>(),
      .made = TakeTime(body),
      .used = TakeTime(body)};
  if (has_time) record.took = std::chrono::microseconds(body.NonNegative());
  if (!body.complete()) return std::nullopt;
  return record;
}

}  // namespace cccl_cache::daemon

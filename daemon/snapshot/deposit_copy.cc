// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/deposit_copy.h"

#include <memory>
#include <utility>

#include "daemon/core/model/bytes.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Digest;

//   deposit  = fields name_space contents
//   fields   = 32 bytes          the digest of the fields (proto/deposit_key.cc)
//   name_space, contents = string
constexpr size_t kDigestBytes = sizeof(Digest::bytes);
constexpr size_t kLengthBytes = sizeof(uint64_t);  // before each string
// As a client may name one.
constexpr size_t kLongestNamespace = 128;

}  // namespace

std::string EncodeDepositCopy(const DepositCopy& copy) {
  std::string bytes(copy.fields.View());
  AppendString(bytes, copy.name_space);
  AppendString(bytes, *copy.contents);
  return bytes;
}

uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes) {
  const uint64_t around = kDigestBytes + kLengthBytes + name_space.size() + kLengthBytes;
  return copy_bytes < around ? 0 : copy_bytes - around;
}

std::optional<DepositCopy> DecodeDepositCopy(const Digest& identity, std::string_view bytes) {
  ByteReader reader(bytes);
  const auto fields = Digest::FromBytes(reader.Take(kDigestBytes).value_or(""));
  const auto name_space = reader.TakeString();
  const auto contents = reader.TakeString();
  if (!fields || !name_space || !contents || !reader.at_end()) return std::nullopt;
  if (name_space->empty() || name_space->size() > kLongestNamespace) return std::nullopt;
  DepositCopy copy{std::string(*name_space), *fields, nullptr};
  if (copy.identity() != identity) return std::nullopt;
  copy.contents = std::make_shared<const std::string>(*contents);
  return copy;
}

}  // namespace cccl_cache::daemon

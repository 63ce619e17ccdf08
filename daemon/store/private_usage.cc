// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/private_usage.h"

#include "daemon/core/model/bytes.h"
#include "daemon/store/answered_row.h"

namespace cccl_cache::daemon {

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

std::string OrderRowKey(uid_t uid, uint64_t generation, const cccl_cache::Digest& key) {
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
  const auto key = cccl_cache::Digest::FromBytes(row_key.substr(sizeof(uint64_t)));
  if (!key) return std::nullopt;
  row.key = *key;
  return row;
}

}  // namespace cccl_cache::daemon

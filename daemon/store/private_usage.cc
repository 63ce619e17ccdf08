// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/private_usage.h"

#include "daemon/core/bytes.h"

namespace cccl_cached {

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

}  // namespace cccl_cached

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/digest.h"

#include <cassert>

namespace cccl_cache {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::array<char, 8> LittleEndian(uint64_t value) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

}  // namespace

std::string Digest::Hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (uint8_t byte : bytes) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::optional<Digest> Digest::FromBytes(std::string_view raw) {
  Digest digest;
  if (raw.size() != digest.bytes.size()) return std::nullopt;
  std::memcpy(digest.bytes.data(), raw.data(), raw.size());
  return digest;
}

std::optional<Digest> Digest::FromHex(std::string_view hex) {
  Digest digest;
  if (hex.size() != digest.bytes.size() * 2) return std::nullopt;
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

void Hasher::Append(std::string_view bytes) {
  sha256_update(&context_, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
}

void Hasher::AppendValue(std::string_view tag, std::string_view value) {
  assert(tag.size() < 256);
  const char tag_length = static_cast<char>(tag.size());
  const auto length = LittleEndian(value.size());
  Append({&tag_length, 1});
  Append(tag);
  Append({length.data(), length.size()});
  Append(value);
}

void Hasher::AppendValue(std::string_view tag, uint64_t value) {
  const auto bytes = LittleEndian(value);
  AppendValue(tag, std::string_view(bytes.data(), bytes.size()));
}

Digest Hasher::Finish() {
  Digest digest;
  sha256_digest(&context_, digest.bytes.size(), digest.bytes.data());
  return digest;
}

Digest Sha256(std::string_view bytes) {
  Hasher hasher;
  hasher.Append(bytes);
  return hasher.Finish();
}

}  // namespace cccl_cache

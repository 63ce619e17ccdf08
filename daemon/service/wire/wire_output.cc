// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/wire_output.h"

namespace cccl_cache::daemon {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kLengthDelimited = 2;

void AppendVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

}  // namespace

void AppendNumber(uint32_t field, uint64_t value, std::string& bytes) {
  if (value == 0) return;
  AppendVarint(field << 3 | kVarint, bytes);
  AppendVarint(value, bytes);
}

void AppendBytes(uint32_t field, std::string_view value, std::string& bytes) {
  if (!value.empty()) AppendMessage(field, value, bytes);
}

void AppendMessage(uint32_t field, std::string_view message, std::string& bytes) {
  AppendHead(field, message.size(), bytes);
  bytes.append(message);
}

void AppendHead(uint32_t field, uint64_t length, std::string& bytes) {
  AppendVarint(field << 3 | kLengthDelimited, bytes);
  AppendVarint(length, bytes);
}

}  // namespace cccl_cache::daemon

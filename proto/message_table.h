// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cccl_cache {

/// A value of an enum. Its name is "never-seen" for VERDICT_NEVER_SEEN, and empty for values that
/// end in UNSPECIFIED or NONE.
struct EnumValue {
  uint64_t number;
  std::string_view name;
};

struct MessageTable;

struct MessageField {
  enum Kind : uint8_t { kText, kNumber, kNumber32, kReal, kBoolean, kEnum, kMessage };

  std::string_view name;
  uint32_t number;
  Kind kind;
  bool repeated;
  std::span<const EnumValue> values{};    ///< the values of the enum; only for kEnum
  const MessageTable* message = nullptr;  ///< the fields of the nested message; only for kMessage
};

/// The fields of one message type. proto/message_tables.h is generated from the .proto files. It
/// has a table for each message by which the daemon reports on itself.
struct MessageTable {
  std::span<const MessageField> fields{};
};

}  // namespace cccl_cache

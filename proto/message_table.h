// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cccl_cache {

/// A value of an enum: "never-seen" for VERDICT_NEVER_SEEN; the names of UNSPECIFIED and NONE are
/// empty.
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
  std::span<const EnumValue> values{};    ///< of an enum
  const MessageTable* message = nullptr;  ///< the type of a message
};

/// The fields of a message. proto/message_tables.h, generated from the .proto files, has a table
/// for each message of the daemon about itself.
struct MessageTable {
  std::span<const MessageField> fields{};
};

}  // namespace cccl_cache

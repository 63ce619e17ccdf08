// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Appends fields of protobuf messages to `bytes`, with the field's number, as the generated code
/// writes them. Leaves out a number that is 0 and bytes that are empty.
namespace cccl_cache::daemon {

void AppendNumber(uint32_t field, uint64_t value, std::string& bytes);
void AppendBytes(uint32_t field, std::string_view value, std::string& bytes);
/// Appends the field even if it is empty.
void AppendMessage(uint32_t field, std::string_view message, std::string& bytes);
/// Appends the tag and length that precede `length` bytes of a field.
void AppendHead(uint32_t field, uint64_t length, std::string& bytes);

}  // namespace cccl_cache::daemon

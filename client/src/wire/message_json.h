// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cccl_cache/c/base.h"
#include "cccl_cache/expected.h"
#include "proto/message_table.h"

namespace cccl_cache {

/// Returns a message as a JSON object with the fields of the table by name. An absent submessage
/// has no key. An enum is the name of its value, or "unknown" for a value of a newer daemon. None:
/// the bytes are malformed, or larger than any daemon's message.
[[nodiscard]] std::optional<std::string> ToJson(std::string_view message,
                                                const MessageTable& table);

/// Returns the message with these fields, each given as "NAME=VALUE". The values of a flag are true
/// and false. CCCL_CACHE_INVALID_REQUEST names the first argument without a known field or with an
/// invalid value.
[[nodiscard]] Expected<std::string> FromArguments(std::span<const cccl_cache_bytes> arguments,
                                                  const MessageTable& table);

}  // namespace cccl_cache

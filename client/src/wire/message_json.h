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

/// Returns a message as a JSON object with each field of the table, under its name. An absent
/// message has no key; an enum is the name of its value, "unknown" for a newer daemon's. None: the
/// bytes are malformed, or more than any daemon sends.
[[nodiscard]] std::optional<std::string> ToJson(std::string_view message,
                                                const MessageTable& table);

/// Returns the message with these fields, each "NAME=VALUE"; true and false are the values of a
/// flag. CCCL_CACHE_INVALID_REQUEST names the first that is no field, or no value of it.
[[nodiscard]] Expected<std::string> FromArguments(std::span<const cccl_cache_bytes> arguments,
                                                  const MessageTable& table);

}  // namespace cccl_cache

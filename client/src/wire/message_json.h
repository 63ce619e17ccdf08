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

/// Converts an encoded message to a JSON object. Its keys are the names of the fields in `table`.
/// An absent submessage has no key. An enum becomes the name of its value, or "unknown" for a value
/// that only a newer daemon has. Returns none if the message is malformed or larger than any
/// message of a daemon.
[[nodiscard]] std::optional<std::string> ToJson(std::string_view message,
                                                const MessageTable& table);

/// Encodes a message from arguments of the form "NAME=VALUE", where NAME is a field of `table`. The
/// values of a boolean field are true and false. Fails with CCCL_CACHE_INVALID_REQUEST, whose text
/// quotes the first argument with an unknown field or an invalid value.
[[nodiscard]] Expected<std::string> FromArguments(std::span<const cccl_cache_bytes> arguments,
                                                  const MessageTable& table);

}  // namespace cccl_cache

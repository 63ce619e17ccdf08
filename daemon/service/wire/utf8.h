// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache::daemon {

[[nodiscard]] bool IsUtf8(std::string_view text);

/// The text with each byte that is not part of well-formed UTF-8 replaced by '?': fields of type
/// string must be UTF-8, and a compiler's log quotes sources in any encoding.
[[nodiscard]] std::string ToUtf8(std::string_view text);

}  // namespace cccl_cache::daemon

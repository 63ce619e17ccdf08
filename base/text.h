// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cccl_cache {

/// Returns the length of the well-formed UTF-8 sequence (Unicode 15, table 3-7) at the front of the
/// text, which is not empty; 0 if there is none.
[[nodiscard]] size_t Utf8Length(std::string_view text);

/// Returns whether the text is well-formed UTF-8.
[[nodiscard]] bool IsUtf8(std::string_view text);

/// The text with each byte that is not part of well-formed UTF-8 replaced by '?': fields of type
/// string must be UTF-8, and a compiler's log quotes sources in any encoding.
[[nodiscard]] std::string ToUtf8(std::string_view text);

/// Returns the front of the text, of at most so many bytes. A character that is well-formed UTF-8
/// is not cut in two.
[[nodiscard]] std::string_view CutAtCharacter(std::string_view text, size_t most);

/// Returns whether a character (one well-formed UTF-8 sequence) could steer a terminal: a control
/// character, U+0080 to U+009F among them, or one that changes the direction of the text after it.
[[nodiscard]] bool SteersTerminal(std::string_view character);

/// Returns someone else's text with '?' for characters that could steer a terminal and for bytes
/// that are not UTF-8.
[[nodiscard]] std::string Printable(std::string_view text);

/// "; did you mean X?" for the candidate that `name` was most likely meant to be; empty if none is
/// near.
[[nodiscard]] std::string DidYouMean(std::string_view name,
                                     std::span<const std::string> candidates);

}  // namespace cccl_cache

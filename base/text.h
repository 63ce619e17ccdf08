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

/// Returns the text with '?' for each byte that is not well-formed UTF-8. Fields of type string
/// must be UTF-8, and a compiler's log quotes sources in any encoding.
[[nodiscard]] std::string ToUtf8(std::string_view text);

/// Returns the front of the text, at most `most` bytes. A well-formed UTF-8 character is not cut.
[[nodiscard]] std::string_view CutAtCharacter(std::string_view text, size_t most);

/// Returns whether a character (one well-formed UTF-8 sequence) could steer a terminal: a control
/// character (also U+0080 to U+009F) or a mark that changes the direction of the text after it.
[[nodiscard]] bool SteersTerminal(std::string_view character);

/// Returns foreign text with '?' for characters that could steer a terminal and for bytes that are
/// not UTF-8.
[[nodiscard]] std::string Printable(std::string_view text);

/// Returns "; did you mean X?" for the candidate most similar to `name`. Empty if none is similar.
[[nodiscard]] std::string DidYouMean(std::string_view name,
                                     std::span<const std::string> candidates);

}  // namespace cccl_cache

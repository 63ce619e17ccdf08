// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cccl_cache {

/// Returns the length in bytes of the well-formed UTF-8 sequence (Unicode 15, table 3-7) at the
/// start of the text. Returns 0 if there is none. The text must not be empty.
[[nodiscard]] size_t Utf8Length(std::string_view text);

/// Returns whether the text is well-formed UTF-8.
[[nodiscard]] bool IsUtf8(std::string_view text);

/// Returns the text with '?' for each byte that is not part of well-formed UTF-8. Protobuf fields
/// of type string must be UTF-8, but a compiler's log may quote sources in any encoding.
[[nodiscard]] std::string ToUtf8(std::string_view text);

/// Returns the first bytes of the text, at most `most`, without cutting a well-formed UTF-8
/// character.
[[nodiscard]] std::string_view CutAtCharacter(std::string_view text, size_t most);

/// Returns whether the character could change how a terminal shows other text: a control character
/// (also U+0080 to U+009F), or a mark that changes the direction of the text after it. `character`
/// is one well-formed UTF-8 sequence.
[[nodiscard]] bool SteersTerminal(std::string_view character);

/// Returns a text from another program or user in a form that is safe to print: '?' replaces each
/// character for which SteersTerminal() is true and each byte that is not UTF-8.
[[nodiscard]] std::string Printable(std::string_view text);

/// Returns "; did you mean X?" for the candidate most similar to `name`. Empty if none is similar.
[[nodiscard]] std::string DidYouMean(std::string_view name,
                                     std::span<const std::string> candidates);

}  // namespace cccl_cache

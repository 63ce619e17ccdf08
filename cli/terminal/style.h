// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cccl_cache::cli {

/// The meaning of a text on the terminal. All commands take its look from one table.
enum class Role : uint8_t {
  kPlain,
  kTitle,
  kGood,     ///< nothing to do: a hit, a check that passed, a running compile
  kWarning,  ///< worth a look: a compile that waits, advice
  kBad,      ///< to be solved: an error
  kName,     ///< a name that a user chose
  kFaint,    ///< less important than the rest
  kSelected,
};

/// The look of a role. The colours of the terminal itself are used, so that the text is legible on
/// a light and on a dark background.
struct Style {
  enum Colour : uint8_t { kDefault = 0, kRed = 1, kGreen = 2, kYellow = 3, kCyan = 6 };
  Colour colour = kDefault;  ///< the numbers are those of ECMA-48 and of curses
  bool bold = false;
  bool dim = false;
  bool reverse = false;
};
[[nodiscard]] Style StyleOf(Role role);

/// Returns whether coloured text may be written to the descriptor: it is a terminal that has
/// colours (TERM is neither "dumb" nor missing), and NO_COLOR is not set (https://no-color.org).
[[nodiscard]] bool WantsColour(int descriptor);
/// Returns the text with escape sequences for the role, or unchanged if not `wanted`.
[[nodiscard]] std::string Painted(std::string_view text, Role role, bool wanted);

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/core/closure/source_scan.h"

namespace cccl_cache::daemon {

/// How a text can bring the paths of files into a compiler's output
/// (docs/internals/decisions/0036).
struct PathUses {
  /// Assertions and CCCL's macros like them. They pass a path to a function that the compiler does
  /// not know, so an output shows the path as text, either in full or not at all.
  bool as_text = false;
  /// Other uses: the length of a path, a hash of it, a part of it. Or the text itself holds a
  /// canonical name.
  bool as_number = false;
  /// An assertion in any text of the program may be more than text: arguments of a macro may begin
  /// or end in another text than this, or a name in the macro of assertions has another meaning.
  bool doubts_assertions = false;
  /// The parts of names (NameParts) in the code.
  NameParts parts;

  /// Returns whether a compile may show more of paths than text. For the uses in all texts
  /// together.
  [[nodiscard]] bool ShowMoreThanText() const {
    return as_number || (as_text && doubts_assertions);
  }
  PathUses& operator|=(const PathUses& other) {
    as_text = as_text || other.as_text;
    as_number = as_number || other.as_number;
    doubts_assertions = doubts_assertions || other.doubts_assertions;
    parts |= other.parts;
    return *this;
  }
  bool operator==(const PathUses&) const = default;
};

/// Returns the uses in one file, or in another whole text that the preprocessor sees. Comments do
/// not count. `of_cccl`: the file lies where CCCL's files do, so macros like assertions have CCCL's
/// meaning.
[[nodiscard]] PathUses PathUsesIn(std::string_view text, bool of_cccl);

/// Returns whether a file of this name, below a directory of -I, lies where CCCL's files do and
/// uses CCCL's macros. Other projects have directories named cuda/, too.
[[nodiscard]] bool IsOfCccl(std::string_view below, std::string_view text);
/// Returns the part of the answer that comes from the name alone.
[[nodiscard]] bool IsNamedLikeCccl(std::string_view below);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/core/closure/source_scan.h"

namespace cccl_cache::daemon {

/// The ways in which a text can bring the paths of files into a compiler's output
/// (docs/internals/decisions/0036).
struct PathUses {
  /// Assertions and similar macros of CCCL. They pass a path to a function that the compiler does
  /// not know, so the output shows the path as text, in full or not at all.
  bool as_text = false;
  /// Other uses: the length, a hash or a part of a path. Also set if the text has a canonical name.
  bool as_number = false;
  /// An assertion may be more than text: a macro's arguments may begin or end in another text, or a
  /// name in the assertion's macro is redefined.
  bool doubts_assertions = false;
  /// The parts of names (NameParts) in the code.
  NameParts parts;

  /// Returns whether a compile may show paths in another form than text. To be called on the uses
  /// of all texts together.
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

/// Returns the uses in one file, or in another whole text that the preprocessor reads. Comments do
/// not count. `of_cccl`: the file is one of CCCL's, so macros like assertions have CCCL's meaning.
[[nodiscard]] PathUses PathUsesIn(std::string_view text, bool of_cccl);

/// Returns whether a file of this name below a directory of -I is one of CCCL's, by its name and
/// its macros: other projects have directories named cuda/ too.
[[nodiscard]] bool IsOfCccl(std::string_view below, std::string_view text);
/// Returns the part of IsOfCccl that depends on the name alone.
[[nodiscard]] bool IsNamedLikeCccl(std::string_view below);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/core/closure/source_scan.h"

namespace cccl_cache::daemon {

/// The ways in which a text can bring the paths of files into a compiler's output
/// (docs/internals/decisions/0036).
struct PathUses {
  /// The text has assertions or similar macros of CCCL. These pass a path to a function that the
  /// compiler does not evaluate. The output therefore has the whole path as text, or nothing of it.
  bool as_text = false;
  /// The text uses a path in other ways, so that the output may depend on its length, its hash or a
  /// part of it. Also true if the text has a canonical name.
  bool as_number = false;
  /// The output may depend on a path of an assertion in other ways too: a macro's arguments may
  /// begin or end in another file, or the program redefines a name on which the assertion's macro
  /// depends.
  bool doubts_assertions = false;
  /// The identifiers in the code from which a name such as __FILE__ could be pasted.
  NameParts parts;

  /// Returns whether the output may depend on paths in another form than text. To be called on the
  /// combined uses of all texts of a compile.
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

/// Returns the path uses in a file, or in another complete text that the preprocessor reads.
/// Comments are ignored. `of_cccl` says that the file is a header of CCCL, whose lines are compared
/// with kCcclLines.
[[nodiscard]] PathUses PathUsesIn(std::string_view text, bool of_cccl);

/// Returns whether a file is a header of CCCL. `below` is its name relative to a directory of -I.
/// The text is checked for macros of CCCL, because other projects have directories named cuda/ too.
[[nodiscard]] bool IsOfCccl(std::string_view below, std::string_view text);
/// Returns whether the name, without the text, could be that of a header of CCCL.
[[nodiscard]] bool IsNamedLikeCccl(std::string_view below);

}  // namespace cccl_cache::daemon

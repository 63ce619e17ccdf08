// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "daemon/core/closure/name_parts.h"

namespace cccl_cache::daemon {

/// The things besides code that a text can make a compiler put into its output. ScanText looks for
/// whole identifiers anywhere, in comments and strings too. A false alarm costs a hit; an oversight
/// gives a wrong hit.
struct TextTraits {
  /// The first of __DATE__, __TIME__, __TIMESTAMP__ that stands in the text, or empty. Points to
  /// static memory.
  std::string_view time_token;
  /// Whether the text names something that shows where source or headers lie: __FILE__,
  /// __builtin_FILE, __BASE_FILE__, source_location, assert, _CCCL_BUILTIN_FILE. Or it holds a
  /// canonical name itself, which in a log could not be told from the daemon's.
  bool path_token = false;
  /// Whether it names __BASE_FILE__, which shows the program's name wherever it stands.
  bool base_name_token = false;
  /// Whether it names __PRETTY_FUNCTION__, and whether it does so outside a #define. Headers of
  /// CCCL that every program includes define macros with it, which hardly any program uses.
  bool function_token = false;
  bool function_token_in_code = false;
  /// Whether it holds an identifier that each paste (##) of a name above needs. False for nearly
  /// all texts; otherwise call PartsIn on them.
  bool may_paste = false;

  bool operator==(const TextTraits&) const = default;
};

/// Returns the traits of the text. One pass over it.
[[nodiscard]] TextTraits ScanText(std::string_view text);

/// Returns all parts of names in the text. Another pass, and a slower one.
[[nodiscard]] NameParts PartsIn(std::string_view text);

/// Returns the traits that texts with these parts have through names that a preprocessor could
/// paste together. The parts `__`, `D`, `A`, `T`, `E` do not count as __DATE__, because large
/// libraries have all of these. A name that shows paths is found whatever it is pasted from.
[[nodiscard]] TextTraits PastedNames(const NameParts& parts);

/// Returns how many bytes at a program's beginning hold nothing but comments, blank lines and the
/// directives #include, #define, #undef and #if with its kin. The count ends after the last of
/// these directives that stands in no open #if. Returns 0 if none of them is an #include. This is a
/// guess at what a compiler takes for the leading includes; only the compiler can confirm it.
[[nodiscard]] size_t PreambleLength(std::string_view source);

}  // namespace cccl_cache::daemon

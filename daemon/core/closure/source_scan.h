// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "daemon/core/closure/name_parts.h"

namespace cccl_cache::daemon {

/// What a text can make a compiler put into its output besides code. Looks for whole identifiers
/// anywhere, comments and strings too: a false alarm costs a hit, an oversight a wrong one.
struct TextTraits {
  /// The first of __DATE__, __TIME__, __TIMESTAMP__ that stands in the text, or empty. Static.
  std::string_view time_token;
  /// Whether the text names something that shows where source or headers lie: __FILE__,
  /// __builtin_FILE, __BASE_FILE__, source_location, assert, _CCCL_BUILTIN_FILE. Or it holds a
  /// canonical name itself, which in a log could not be told from the daemon's.
  bool path_token = false;
  /// Whether it names __BASE_FILE__, which shows the program's name wherever it stands.
  bool base_name_token = false;
  /// Whether it names __PRETTY_FUNCTION__, and whether it does so outside a #define: headers of
  /// CCCL that every program includes define macros by it that hardly any uses.
  bool function_token = false;
  bool function_token_in_code = false;
  /// Whether it names something without which nothing can be pasted (##) together that is said
  /// above. False for nearly all texts; otherwise PartsIn them are to be looked at.
  bool may_paste = false;

  bool operator==(const TextTraits&) const = default;
};

/// One pass over the text.
[[nodiscard]] TextTraits ScanText(std::string_view text);

/// All parts of names in the text. Another pass, and slower.
[[nodiscard]] NameParts PartsIn(std::string_view text);

/// What texts with these parts of names can do besides by names that stand in them: those that a
/// preprocessor could paste together. Takes `__`, `D`, `A`, `T`, `E` for no __DATE__, as large
/// libraries have all of these; whatever shows paths is found whatever it is pasted of.
[[nodiscard]] TextTraits PastedNames(const NameParts& parts);

/// How many bytes at a program's beginning hold nothing but comments, blank lines and the
/// directives #include, #define, #undef and #if with its kin, up to the end of the last of these
/// that stands in no open #if. 0: none of them is an #include. A guess of what a compiler takes for
/// the leading includes; that the compiler agrees is for it to say.
[[nodiscard]] size_t PreambleLength(std::string_view source);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What a text can make a compiler put into its output besides code. Looks for whole identifiers
/// anywhere, comments and strings too: a false alarm costs a hit, an oversight a wrong one.
namespace cccl_cached {

struct TextTraits {
  /// The first of __DATE__, __TIME__, __TIMESTAMP__ that stands in the text, or empty. Static.
  std::string_view time_token;
  /// Whether the text names something that shows where source or headers lie: __FILE__,
  /// __builtin_FILE, __BASE_FILE__, source_location, assert.
  bool path_token = false;
  /// Whether it names __BASE_FILE__, which shows the program's name wherever it stands.
  bool base_name_token = false;
  /// Whether it names __PRETTY_FUNCTION__, and whether it does so outside a #define: headers of
  /// CCCL that every program includes define macros by it that hardly any uses.
  bool function_token = false;
  bool function_token_in_code = false;
};

/// One pass over the text.
[[nodiscard]] TextTraits ScanText(std::string_view text);

}  // namespace cccl_cached

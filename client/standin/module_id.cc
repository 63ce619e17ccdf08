// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/module_id.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace cccl_cache::standin {
namespace {

/// Words that may define a type, or an entity whose linkage follows from a type or is not internal.
/// A lambda expression begins with one of the brackets. Literals may contain braces.
constexpr std::string_view kNotLocal[] = {"class", "struct", "union", "enum",  "template", "inline",
                                          "[]",    "[&",     "[=",    "[this", "\"",       "'"};
/// Text that cudafe++ writes for the one object of unnamed namespaces in the headers of CCCL. Its
/// type is an empty class, so that it may be merged.
constexpr std::string_view kIgnore = "constexpr inline __ignore_t ignore{};";

constexpr size_t kMostDigits = 4;  ///< of the length of a mangled name

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOfName(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool IsSpace(char c) { return c == ' ' || c == '\t'; }

/// Returns whether the block that begins with the text, behind its brace, has internal names only:
/// cudafe++ gives the unnamed namespace a name, so that only what is declared static is internal.
/// False if the block has literals, whose braces would have to be told from others.
bool HasLocalNames(std::string_view text) {
  constexpr std::string_view kStatic = "static ";
  std::string block;
  bool at_start = true;  // of a declaration
  int depth = 1;
  while (depth > 0) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() == text.size()) return false;  // the block has no end
    text.remove_prefix(line.size() + 1);
    if (line.starts_with('#') || line.starts_with(kIgnore)) continue;
    for (; depth > 0 && !line.empty(); line.remove_prefix(1)) {
      const char c = line.front();
      if (c == '{') ++depth;
      if (c == '}') --depth;
      block.push_back(c);
      if (depth == 1 && (c == '}' || c == ';')) {
        at_start = true;
      } else if (depth == 1 && at_start && !IsSpace(c)) {
        if (!line.starts_with(kStatic)) return false;
        at_start = false;
      }
    }
    block.push_back('\n');
  }
  return std::ranges::none_of(
      kNotLocal, [&block](std::string_view word) { return block.find(word) != std::string::npos; });
}

}  // namespace

bool HasProcessNumber(std::string_view id) {
  const size_t last = id.rfind('_');
  return last == std::string_view::npos || std::ranges::all_of(id.substr(last + 1), IsDigit);
}

bool IsLocal(std::string_view id, std::string_view code) {
  const std::string name = std::string("namespace _GLOBAL__N_").append(id);
  for (size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    const size_t begin = code.find('{', at);
    if (begin == std::string_view::npos || !HasLocalNames(code.substr(begin + 1))) return false;
  }
  return true;
}

bool FitsEveryRun(std::string_view file, bool relocatable) {
  constexpr std::string_view kUnnamed = "_GLOBAL__N_";
  constexpr std::string_view kByHost = "1";  // the host compiler's unnamed namespaces
  for (size_t at = file.find(kUnnamed); at != std::string_view::npos;
       at = file.find(kUnnamed, at + 1)) {
    // A mangled name has its length in front. The name before it may end in digits, too, as that of
    // cuda::std::__4 does. So each number that ends here may be the length.
    size_t size = 0;
    size_t unit = 1;
    for (size_t digits = 1; digits <= std::min(at, kMostDigits); ++digits, unit *= 10) {
      const char digit = file[at - digits];
      if (!IsDigit(digit)) break;
      size += unit * static_cast<size_t>(digit - '0');
      if (size <= kUnnamed.size()) continue;
      const std::string_view id = file.substr(at, size).substr(kUnnamed.size());
      if (std::ranges::all_of(id, IsOfName) && id != kByHost && HasProcessNumber(id)) return false;
    }
  }
  if (!relocatable) return true;
  constexpr std::string_view kRegister = "__cudaRegisterLinkedBinary_";
  bool known = false;
  for (size_t at = file.find(kRegister); at != std::string_view::npos;
       at = file.find(kRegister, at + 1)) {
    const std::string_view id = file.substr(at + kRegister.size());
    if (HasProcessNumber(id.substr(0, id.find('\0')))) return false;
    known = true;
  }
  return known;
}

}  // namespace cccl_cache::standin

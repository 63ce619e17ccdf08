// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cccl_cache::daemon {

/// The names that a compiler replaces by the time, a file's path, or a mangled name.
namespace shown_names {
constexpr std::string_view kDate = "__DATE__";
constexpr std::string_view kTime = "__TIME__";
constexpr std::string_view kTimestamp = "__TIMESTAMP__";
constexpr std::string_view kFile = "__FILE__";
constexpr std::string_view kBuiltinFile = "__builtin_FILE";
constexpr std::string_view kBaseFile = "__BASE_FILE__";
constexpr std::string_view kSourceLocation = "source_location";
constexpr std::string_view kAssert = "assert";
constexpr std::string_view kPrettyFunction = "__PRETTY_FUNCTION__";
/// The functions that assert calls: NVRTC's, and a host compiler's.
constexpr std::string_view kAssertFail = "__assertfail";
constexpr std::string_view kHostAssertFail = "__assert_fail";

/// Names that a program can use by pasting them together from parts.
constexpr std::array kAll = {kDate,           kTime,        kTimestamp,      kFile,
                             kBaseFile,       kBuiltinFile, kSourceLocation, kAssert,
                             kPrettyFunction, kAssertFail,  kHostAssertFail};

/// Names that a program can turn into a number, and functions that get a path from an assertion. A
/// program may define such a function itself.
constexpr auto kPathWords = std::to_array<std::string_view>(
    {kFile, kBuiltinFile, kBaseFile, kSourceLocation, kAssertFail, kHostAssertFail, "__assert_rtn",
     "__assert2", "__ASSERT_STR_HELPER", "__builtin_source_location", "_CCCL_BUILTIN_FILE",
     "file_name"});
/// Macros that pass a path to a function that the compiler does not know: assert, and CCCL's own.
constexpr auto kAssertions = std::to_array<std::string_view>(
    {kAssert, "_CCCL_ASSERT", "_CCCL_ASSERT_HOST", "_CCCL_ASSERT_DEVICE", "_CCCL_ASSERT_IMPL_HOST",
     "_CCCL_ASSERT_IMPL_DEVICE", "_CCCL_VERIFY", "_CCCL_THROW", "_CCCL_WARNING",
     "_LIBCUDACXX_ASSERT", "_LIBCUDACXX_WARNING", "CubDebug", "CubDebugExit",
     "CUDA_CUB_RET_IF_FAIL", "_CUDA_CUB_RET_IF_FAIL", "_WS_CONSTANT_ASSERT", "CUB_COMP_DEPR_IMPL",
     "LIBCUDACXX_COMP_DEPR_IMPL", "THRUST_COMP_DEPR_IMPL"});
}  // namespace shown_names

/// A filter that rejects most words that are not in a set, by their lengths and their first and
/// last characters. A plain value. Words have at least one character; those in the set at most 31.
class WordFilter {
 public:
  constexpr void Add(std::string_view word) {
    first_[static_cast<uint8_t>(word.front())] |= 1u << word.size();
    last_[static_cast<uint8_t>(word.back())] |= 1u << word.size();
  }
  /// Returns false only for words that are not in the set.
  [[nodiscard]] constexpr bool MayHold(std::string_view word) const {
    if (word.size() >= 32) return false;
    const uint32_t both =
        first_[static_cast<uint8_t>(word.front())] & last_[static_cast<uint8_t>(word.back())];
    return (both >> word.size() & 1) != 0;
  }

 private:
  // For each character: the lengths, as bits, of the words that begin or end with it.
  std::array<uint32_t, 256> first_{};
  std::array<uint32_t, 256> last_{};
};

/// The identifiers in some texts that are proper parts of the names above. A preprocessor can paste
/// (##) such a name only from these parts, because a paste joins whole tokens, and no number is
/// part of a name.
class NameParts {
 public:
  /// Adds the identifier, if it is part of a name.
  void Add(std::string_view identifier);
  NameParts& operator|=(const NameParts& other) {
    found_ |= other.found_;
    return *this;
  }
  bool operator==(const NameParts&) const = default;

  /// The fewest parts from which a name can be pasted.
  struct Needed {
    size_t parts = kImpossible;
    size_t letters = kImpossible;  ///< fewest one-letter parts, minimised separately
  };
  static constexpr size_t kImpossible = 1000;
  /// Returns the parts needed to paste this name from two or more.
  [[nodiscard]] Needed NeededFor(std::string_view name) const;

  /// Returns whether every paste of a name needs such an identifier: a part with an underscore, or
  /// an ending of `assert`. Exception: `assert` pasted from single letters. Few texts have such an
  /// identifier.
  [[nodiscard]] static bool IsNeeded(std::string_view identifier);
  /// Adds every identifier for which IsNeeded is true.
  static constexpr void AddNeeded(WordFilter& filter) {
    for (const std::string_view name : shown_names::kAll) {
      for (size_t begin = 0; begin < name.size(); ++begin) {
        for (size_t length = 1; begin + length <= name.size() && length < name.size(); ++length) {
          const std::string_view part = name.substr(begin, length);
          if (CompletesName(part)) filter.Add(part);
        }
      }
    }
    for (const std::string_view macro : kMacros) filter.Add(macro);
  }

  static constexpr size_t kMaxParts = 1024;

 private:
  // Macros of the toolchain's headers that paste "__" before their argument. Their result is not a
  // value, unless a program redefines another macro of these headers.
  static constexpr std::array<std::string_view, 2> kMacros = {"__location__",
                                                              "_CCCL_CHECK_BUILTIN"};

  static constexpr bool CompletesName(std::string_view part) {
    return part.find('_') != part.npos || (part.size() > 1 && shown_names::kAssert.ends_with(part));
  }
  std::bitset<kMaxParts> found_;
};

/// Words by which a text can make a compiler's output depend on more than code. ScanText finds
/// whole identifiers anywhere, also in comments and strings: a false alarm costs a hit, but an
/// oversight causes a wrong hit.
struct TextTraits {
  /// The first of __DATE__, __TIME__, __TIMESTAMP__ in the text, or empty. Static memory.
  std::string_view time_token;
  /// The text has one of kPathWords, `assert` or a canonical name: the output may show paths.
  bool path_token = false;
  /// The text has one of kAssertions.
  bool assertion = false;
  /// The text has a canonical name, which a log would not distinguish from the daemon's.
  bool canonical_name = false;
  /// The text has __BASE_FILE__, which shows the program's name at any place.
  bool base_name_token = false;
  /// The text has __PRETTY_FUNCTION__ at all, or outside a #define. Headers of CCCL that every
  /// program includes define macros with it, which few programs use.
  bool function_token = false;
  bool function_token_in_code = false;
  /// The text has an identifier for which NameParts::IsNeeded is true. False for nearly all texts;
  /// otherwise call PartsIn on them.
  bool may_paste = false;

  bool operator==(const TextTraits&) const = default;
};

/// Returns the text with spliced lines joined: `text` itself if it has no backslash, else a view of
/// `joined`.
[[nodiscard]] std::string_view WithoutSplices(std::string_view text, std::string* joined);

/// Returns the traits of the text. One pass over it.
[[nodiscard]] TextTraits ScanText(std::string_view text);

/// Returns all parts of names in the text. A second pass, slower than ScanText.
[[nodiscard]] NameParts PartsIn(std::string_view text);

/// Returns the traits that follow from names that a preprocessor could paste from these parts. The
/// parts `__`, `D`, `A`, `T`, `E` do not count as __DATE__, because large libraries have all of
/// them. Names that show paths count with any parts.
[[nodiscard]] TextTraits PastedNames(const NameParts& parts);

/// Returns the length in bytes of a program's beginning that has only comments, blank lines and the
/// directives #include, #define, #undef and #if with its branches. It ends after the last #include,
/// or after the closed #if around it: later macros differ between programs with the same headers. 0
/// without an #include. This is a guess at the compiler's leading includes, which only the compiler
/// can confirm.
[[nodiscard]] size_t PreambleLength(std::string_view source);

}  // namespace cccl_cache::daemon

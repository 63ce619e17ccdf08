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

/// Names that the compiler replaces by the time, by a file's path or by a mangled function name.
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
/// Functions that the macro assert() calls: the first in NVRTC, the second in host compilers.
constexpr std::string_view kAssertFail = "__assertfail";
constexpr std::string_view kHostAssertFail = "__assert_fail";

/// Those names that a program may also form by pasting (##) parts.
constexpr std::array kAll = {kDate,           kTime,        kTimestamp,      kFile,
                             kBaseFile,       kBuiltinFile, kSourceLocation, kAssert,
                             kPrettyFunction, kAssertFail,  kHostAssertFail};

/// Names whose path a program can turn into a number, and functions that get the path of an
/// assertion. The latter are included because a program may define such a function itself.
constexpr auto kPathWords = std::to_array<std::string_view>(
    {kFile, kBuiltinFile, kBaseFile, kSourceLocation, kAssertFail, kHostAssertFail, "__assert_rtn",
     "__assert2", "__ASSERT_STR_HELPER", "__builtin_source_location", "_CCCL_BUILTIN_FILE",
     "file_name"});
/// Macros that pass a path to a function that the compiler does not evaluate: assert(), and those
/// of CCCL.
constexpr auto kAssertions = std::to_array<std::string_view>(
    {kAssert, "_CCCL_ASSERT", "_CCCL_ASSERT_HOST", "_CCCL_ASSERT_DEVICE", "_CCCL_ASSERT_IMPL_HOST",
     "_CCCL_ASSERT_IMPL_DEVICE", "_CCCL_VERIFY", "_CCCL_THROW", "_CCCL_WARNING",
     "_LIBCUDACXX_ASSERT", "_LIBCUDACXX_WARNING", "CubDebug", "CubDebugExit",
     "CUDA_CUB_RET_IF_FAIL", "_CUDA_CUB_RET_IF_FAIL", "_WS_CONSTANT_ASSERT", "CUB_COMP_DEPR_IMPL",
     "LIBCUDACXX_COMP_DEPR_IMPL", "THRUST_COMP_DEPR_IMPL"});
}  // namespace shown_names

/// A fast filter for a set of words. It compares the length and the first and last characters of a
/// word, and so rejects most words that are not in the set. Words have at least one character, and
/// those in the set at most 31. A plain value.
class WordFilter {
 public:
  constexpr void Add(std::string_view word) {
    first_[static_cast<uint8_t>(word.front())] |= 1u << word.size();
    last_[static_cast<uint8_t>(word.back())] |= 1u << word.size();
  }
  /// Returns false if the word is certainly not in the set.
  [[nodiscard]] constexpr bool MayHold(std::string_view word) const {
    if (word.size() >= 32) return false;
    const uint32_t both =
        first_[static_cast<uint8_t>(word.front())] & last_[static_cast<uint8_t>(word.back())];
    return (both >> word.size() & 1) != 0;
  }

 private:
  // first_[c] and last_[c] have bit n set if a word of n characters begins or ends with c.
  std::array<uint32_t, 256> first_{};
  std::array<uint32_t, 256> last_{};
};

/// The identifiers in some texts that are proper parts of one of the names kAll. The preprocessor
/// can paste (##) such a name only from these parts, because it pastes whole tokens, and no number
/// is part of a name.
class NameParts {
 public:
  /// Adds the identifier, if it is part of a name.
  void Add(std::string_view identifier);
  NameParts& operator|=(const NameParts& other) {
    found_ |= other.found_;
    return *this;
  }
  bool operator==(const NameParts&) const = default;

  /// The least numbers of parts from which a name can be pasted.
  struct Needed {
    size_t parts = kImpossible;
    size_t letters = kImpossible;  ///< least number of single letters, for any number of parts
  };
  static constexpr size_t kImpossible = 1000;
  /// Returns the least numbers of parts, at least two, from which this name can be pasted.
  [[nodiscard]] Needed NeededFor(std::string_view name) const;

  /// Returns whether the identifier is one of those without which no name can be pasted: parts with
  /// an underscore, and endings of `assert` with at least two letters. Few texts have one of them.
  /// Pasting `assert` from single letters is the only exception.
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
  // Macros in the toolchain's headers that paste "__" before their argument. The result is used as
  // a value only if a program redefines another macro of these headers.
  static constexpr std::array<std::string_view, 2> kMacros = {"__location__",
                                                              "_CCCL_CHECK_BUILTIN"};

  static constexpr bool CompletesName(std::string_view part) {
    return part.find('_') != part.npos || (part.size() > 1 && shown_names::kAssert.ends_with(part));
  }
  std::bitset<kMaxParts> found_;
};

/// Words in a text because of which the compiler's output may depend on more than the code.
/// ScanText() finds them as whole identifiers anywhere, also in comments and strings. A false alarm
/// costs only a hit, but a missed word would cause a wrong hit.
struct TextTraits {
  /// The first of __DATE__, __TIME__, __TIMESTAMP__ in the text, or empty. Static memory.
  std::string_view time_token;
  /// The text has one of kPathWords, `assert` or a canonical name, so the output may have paths.
  bool path_token = false;
  /// The text has one of kAssertions.
  bool assertion = false;
  /// The text has a canonical name (kCanonicalPrefix). In a compiler's log, it could not be
  /// distinguished from the canonical names that the daemon itself gives to files.
  bool canonical_name = false;
  /// The text has __BASE_FILE__, by which any header can show the name of the program.
  bool base_name_token = false;
  /// The text has __PRETTY_FUNCTION__. The second member counts it only outside a #define, because
  /// headers of CCCL that every program includes define macros with it, but few programs use them.
  bool function_token = false;
  bool function_token_in_code = false;
  /// The text has an identifier for which NameParts::IsNeeded() is true. If so, the caller must
  /// call PartsIn(). False for nearly all texts.
  bool may_paste = false;

  bool operator==(const TextTraits&) const = default;
};

/// Returns the text with all spliced lines joined. Returns `text` itself if it has no backslash,
/// else a view of `*joined`.
[[nodiscard]] std::string_view WithoutSplices(std::string_view text, std::string* joined);

/// Returns the traits of the text. One pass over it.
[[nodiscard]] TextTraits ScanText(std::string_view text);

/// Returns all identifiers in the text that are parts of names. Slower than ScanText().
[[nodiscard]] NameParts PartsIn(std::string_view text);

/// Returns the traits of the names that the preprocessor could paste from these parts. The parts
/// `__`, `D`, `A`, `T` and `E` do not make __DATE__, because large libraries have all of them.
/// Names that show paths count even if they need many parts.
[[nodiscard]] TextTraits PastedNames(const NameParts& parts);

/// Returns the length in bytes of the program's preamble: its first lines, if they are only
/// comments, blank lines and the directives #include, #define, #undef and #if with its branches.
/// The preamble ends after the last #include, or after the #endif of the #if around it, because
/// later macros differ between programs with the same headers. 0 if there is no #include. The
/// result is a guess, which only the compiler can confirm.
[[nodiscard]] size_t PreambleLength(std::string_view source);

}  // namespace cccl_cache::daemon

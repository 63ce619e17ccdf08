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

/// The names that a compiler replaces by the time, by where files lie, or by a mangled name.
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
/// The function that NVRTC's assert calls, and that of a host compiler.
constexpr std::string_view kAssertFail = "__assertfail";
constexpr std::string_view kHostAssertFail = "__assert_fail";

/// Names that a program can paste together from parts and use.
constexpr std::array kAll = {kDate,           kTime,        kTimestamp,      kFile,
                             kBaseFile,       kBuiltinFile, kSourceLocation, kAssert,
                             kPrettyFunction, kAssertFail,  kHostAssertFail};

/// Names that a program can turn into a number, and functions to which an assertion passes a path.
/// A program may define such a function itself.
constexpr auto kPathWords = std::to_array<std::string_view>(
    {kFile, kBuiltinFile, kBaseFile, kSourceLocation, kAssertFail, kHostAssertFail, "__assert_rtn",
     "__assert2", "__ASSERT_STR_HELPER", "__builtin_source_location", "_CCCL_BUILTIN_FILE",
     "file_name"});
/// Macros that pass a path to a function unknown to the compiler: assert, and those of CCCL.
constexpr auto kAssertions = std::to_array<std::string_view>(
    {kAssert, "_CCCL_ASSERT", "_CCCL_ASSERT_HOST", "_CCCL_ASSERT_DEVICE", "_CCCL_ASSERT_IMPL_HOST",
     "_CCCL_ASSERT_IMPL_DEVICE", "_CCCL_VERIFY", "_CCCL_THROW", "_CCCL_WARNING",
     "_LIBCUDACXX_ASSERT", "_LIBCUDACXX_WARNING", "CubDebug", "CubDebugExit",
     "CUDA_CUB_RET_IF_FAIL", "_CUDA_CUB_RET_IF_FAIL", "_WS_CONSTANT_ASSERT", "CUB_COMP_DEPR_IMPL",
     "LIBCUDACXX_COMP_DEPR_IMPL", "THRUST_COMP_DEPR_IMPL"});
}  // namespace shown_names

/// A filter that rejects most words that are not in a set, by their lengths and their first and
/// last characters. A plain value. Words have at least one character; those in the set have at most
/// 31.
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
  // Hold for each character the lengths, as bits, of the words that begin or end with it.
  std::array<uint32_t, 256> first_{};
  std::array<uint32_t, 256> last_{};
};

/// The identifiers in some texts that are proper parts of the names above. A preprocessor that has
/// these texts can paste (##) such a name together only out of them. A paste consists of whole
/// tokens, and no number is part of a name.
class NameParts {
 public:
  /// Adds the identifier, if it is part of a name.
  void Add(std::string_view identifier);
  NameParts& operator|=(const NameParts& other) {
    found_ |= other.found_;
    return *this;
  }
  bool operator==(const NameParts&) const = default;

  /// The fewest parts that a name can be pasted from.
  struct Needed {
    size_t parts = kImpossible;
    size_t letters = kImpossible;  ///< fewest one-letter parts, minimised separately
  };
  static constexpr size_t kImpossible = 1000;
  /// Returns the parts needed to paste one of the names above out of two or more.
  [[nodiscard]] Needed NeededFor(std::string_view name) const;

  /// Returns whether each paste of a name needs such an identifier: a part with an underscore, or
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
  // Macros of the toolchain's headers that paste "__" before their argument. The result is not a
  // value, unless a program has redefined another of their macros.
  static constexpr std::array<std::string_view, 2> kMacros = {"__location__",
                                                              "_CCCL_CHECK_BUILTIN"};

  static constexpr bool CompletesName(std::string_view part) {
    return part.find('_') != part.npos || (part.size() > 1 && shown_names::kAssert.ends_with(part));
  }
  std::bitset<kMaxParts> found_;
};

/// Tokens by which a text can make a compiler's output depend on more than code. ScanText looks for
/// whole identifiers anywhere, in comments and strings too. A false alarm costs a hit; an oversight
/// gives a wrong hit.
struct TextTraits {
  /// The first of __DATE__, __TIME__, __TIMESTAMP__ that stands in the text, or empty. Points to
  /// static memory.
  std::string_view time_token;
  /// Whether the text holds one of kPathWords or `assert`, which may show where source or headers
  /// lie, or a canonical name.
  bool path_token = false;
  /// Whether it holds one of kAssertions.
  bool assertion = false;
  /// Whether it contains a canonical name; a log would not show that it is not the daemon's.
  bool canonical_name = false;
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

/// Returns the text with spliced lines joined: `text` itself if it has no backslash, else a view of
/// `joined`.
[[nodiscard]] std::string_view WithoutSplices(std::string_view text, std::string* joined);

/// Returns the traits of the text. One pass over it.
[[nodiscard]] TextTraits ScanText(std::string_view text);

/// Returns all parts of names in the text. Another pass, and a slower one.
[[nodiscard]] NameParts PartsIn(std::string_view text);

/// Returns the traits that texts with these parts have through names that a preprocessor could
/// paste together. The parts `__`, `D`, `A`, `T`, `E` do not count as __DATE__, because large
/// libraries have all of these. A name that shows paths is found whatever it is pasted from.
[[nodiscard]] TextTraits PastedNames(const NameParts& parts);

/// Returns how many bytes at a program's beginning hold nothing but comments, blank lines and the
/// directives #include, #define, #undef and #if with its kin. The count ends after the last
/// #include of these, or after the #if that encloses it, which must be closed; macros behind it
/// differ between programs with the same headers. Returns 0 if there is no such #include. This is a
/// guess at what a compiler takes for the leading includes; only the compiler can confirm it.
[[nodiscard]] size_t PreambleLength(std::string_view source);

}  // namespace cccl_cache::daemon

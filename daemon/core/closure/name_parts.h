// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
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

constexpr std::array kAll = {kDate,        kTime,           kTimestamp, kFile,          kBaseFile,
                             kBuiltinFile, kSourceLocation, kAssert,    kPrettyFunction};
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
  /// Returns what it takes to paste one of the names above out of two or more parts.
  [[nodiscard]] Needed NeededFor(std::string_view name) const;

  /// Returns whether the identifier is one that each paste of a name needs: a part with an
  /// underscore, or an ending of `assert`. The only exception is `assert` pasted from single
  /// letters. Few texts have such an identifier.
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

}  // namespace cccl_cache::daemon

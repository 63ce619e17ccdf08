// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cccl_cache::daemon {

/// The names that a compiler replaces by the time, by where files lie or by how it mangles.
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

/// Sorts out most words that are not in a set, by their lengths and their first and last
/// characters. A plain value; words have at least one character, those in the set at most 31.
class WordFilter {
 public:
  constexpr void Add(std::string_view word) {
    first_[static_cast<uint8_t>(word.front())] |= 1u << word.size();
    last_[static_cast<uint8_t>(word.back())] |= 1u << word.size();
  }
  /// False only for words that are not in the set.
  [[nodiscard]] constexpr bool MayHold(std::string_view word) const {
    if (word.size() >= 32) return false;
    const uint32_t both =
        first_[static_cast<uint8_t>(word.front())] & last_[static_cast<uint8_t>(word.back())];
    return (both >> word.size() & 1) != 0;
  }

 private:
  // For each character the lengths, as bits, of the words that begin or end with it.
  std::array<uint32_t, 256> first_{};
  std::array<uint32_t, 256> last_{};
};

/// Those identifiers of some texts that are proper parts of the names above. A preprocessor that
/// has these texts can paste (##) such a name together only out of them: pastes are made of whole
/// tokens, and no number is part of a name.
class NameParts {
 public:
  /// Ignores what is part of no name.
  void Add(std::string_view identifier);
  NameParts& operator|=(const NameParts& other) {
    found_ |= other.found_;
    return *this;
  }
  bool operator==(const NameParts&) const = default;

  /// How many parts of a kind the name needs, the fewest that do.
  struct Needed {
    size_t parts = kImpossible;
    size_t letters = kImpossible;  ///< parts that are one letter, if that is what is kept low
  };
  static constexpr size_t kImpossible = 1000;
  /// To lay out a name, one of the above, of two or more parts.
  [[nodiscard]] Needed NeededFor(std::string_view name) const;

  /// Whether the identifier is one of those without which no name can be laid out, `assert` with
  /// single letters aside: a part with an underscore, or one that `assert` ends with. Few texts
  /// have one.
  [[nodiscard]] static bool IsNeeded(std::string_view identifier);
  /// Adds everything that IsNeeded is true of.
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
  // Of the toolchain's headers: they paste "__" before what they are given. What they make of it is
  // no value, unless a program has defined another of their macros anew.
  static constexpr std::array<std::string_view, 2> kMacros = {"__location__",
                                                              "_CCCL_CHECK_BUILTIN"};

  static constexpr bool CompletesName(std::string_view part) {
    return part.find('_') != part.npos || (part.size() > 1 && shown_names::kAssert.ends_with(part));
  }
  std::bitset<kMaxParts> found_;
};

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cccl_cached {

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

  /// Whether the identifier can be one of those without which no name can be laid out, `assert` of
  /// single letters aside: a part with an underscore, or one that `assert` begins with. Few texts
  /// have one. Cheap: asked of each identifier of each request.
  [[nodiscard]] static bool MayBeNeeded(std::string_view identifier) {
    if (identifier.size() >= 32) return false;
    const uint32_t both = kNeededByFirst[static_cast<uint8_t>(identifier.front())] &
                          kNeededByLast[static_cast<uint8_t>(identifier.back())];
    return (both >> identifier.size() & 1) != 0;
  }

  static constexpr size_t kMaxParts = 1024;

 private:
  // Of the toolchain's headers: they paste "__" before what they are given. What they make of it is
  // no value, unless a program has defined another of their macros anew.
  static constexpr std::array<std::string_view, 2> kMacros = {"__location__",
                                                              "_CCCL_CHECK_BUILTIN"};

  // For each character the lengths, as bits, of the parts that are needed and begin or end with it.
  using Lengths = std::array<uint32_t, 256>;
  static constexpr Lengths LengthsOfNeeded(bool beginning) {
    Lengths lengths{};
    const auto add = [&](std::string_view part) {
      lengths[static_cast<uint8_t>(beginning ? part.front() : part.back())] |= 1u << part.size();
    };
    for (const std::string_view name : shown_names::kAll) {
      for (size_t begin = 0; begin < name.size(); ++begin) {
        for (size_t end = begin + 1; end <= name.size(); ++end) {
          const std::string_view part = name.substr(begin, end - begin);
          const bool needed = name == shown_names::kAssert ? begin == 0 && part.size() > 1
                                                           : part.find('_') != part.npos;
          if (part.size() < name.size() && needed) add(part);
        }
      }
    }
    for (const std::string_view macro : kMacros) add(macro);
    return lengths;
  }
  static const Lengths kNeededByFirst;
  static const Lengths kNeededByLast;

  std::bitset<kMaxParts> found_;
};

inline constexpr NameParts::Lengths NameParts::kNeededByFirst = NameParts::LengthsOfNeeded(true);
inline constexpr NameParts::Lengths NameParts::kNeededByLast = NameParts::LengthsOfNeeded(false);

}  // namespace cccl_cached

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/name_parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxPart = shown_names::kPrettyFunction.size() - 1;

/// A hash table of all proper parts of the names, each once, with its number.
class PartTable {
 public:
  PartTable() {
    uint16_t count = 0;
    for (const std::string_view name : shown_names::kAll) {
      for (size_t begin = 0; begin < name.size(); ++begin) {
        for (size_t length = 1; begin + length <= name.size() && length < name.size(); ++length) {
          Slot& slot = SlotOf(name.substr(begin, length));
          if (slot.part.empty()) slot = {name.substr(begin, length), count++};
        }
      }
    }
  }

  [[nodiscard]] std::optional<size_t> NumberOf(std::string_view part) const {
    const Slot& slot = const_cast<PartTable*>(this)->SlotOf(part);
    if (slot.part.empty()) return std::nullopt;
    return slot.number;
  }

 private:
  struct Slot {
    std::string_view part;
    uint16_t number = 0;
  };
  static constexpr size_t kSlots = 4 * NameParts::kMaxParts;

  /// Returns the slot of the part, or the empty slot where it would stand.
  Slot& SlotOf(std::string_view part) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(part[i]); };
    size_t slot =
        at(0) * 31u + at(part.size() / 2) * 1031u + at(part.size() - 1) * 257u + part.size() * 67u;
    while (true) {
      Slot& found = slots_[slot++ % kSlots];
      if (found.part.empty() || found.part == part) return found;
    }
  }

  std::array<Slot, kSlots> slots_;
};

const PartTable& Parts() {
  static const PartTable table;
  return table;
}

bool IsLetter(std::string_view part) { return part.size() == 1 && part != "_"; }

}  // namespace

void NameParts::Add(std::string_view identifier) {
  if (std::ranges::find(kMacros, identifier) != kMacros.end()) identifier = "__";
  if (identifier.empty() || identifier.size() > kMaxPart) return;
  if (const auto number = Parts().NumberOf(identifier)) found_[*number] = true;
}

bool NameParts::IsNeeded(std::string_view identifier) {
  if (std::ranges::find(kMacros, identifier) != kMacros.end()) return true;
  return CompletesName(identifier) && Parts().NumberOf(identifier).has_value();
}

NameParts::Needed NameParts::NeededFor(std::string_view name) const {
  // For each n, what the first n characters of the name need.
  std::array<Needed, kMaxPart + 2> needed;
  needed[0] = {0, 0};
  for (size_t begin = 0; begin < name.size(); ++begin) {
    if (needed[begin].parts == kImpossible) continue;
    for (size_t end = begin + 1; end <= name.size(); ++end) {
      const std::string_view part = name.substr(begin, end - begin);
      const std::optional<size_t> number = Parts().NumberOf(part);
      if (part.size() == name.size() || !number || !found_[*number]) continue;
      Needed& other = needed[end];
      other.parts = std::min(other.parts, needed[begin].parts + 1);
      other.letters = std::min(other.letters, needed[begin].letters + (IsLetter(part) ? 1 : 0));
    }
  }
  return needed[name.size()];
}

}  // namespace cccl_cache::daemon

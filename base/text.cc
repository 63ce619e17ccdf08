// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace cccl_cache {
namespace {

/// Returns the least number of insertions, deletions and replacements that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Returns whether the character is one of the explicit directional marks of Unicode's
/// bidirectional algorithm (UAX 9).
bool ChangesDirection(std::string_view character) {
  // UTF-8 sequences have the same order as their code points, so strings are compared.
  return character == "\u061c" || (character >= "\u200e" && character <= "\u200f") ||
         (character >= "\u202a" && character <= "\u202e") ||
         (character >= "\u2066" && character <= "\u2069");
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto within = [&](size_t i, uint8_t low, uint8_t high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const uint8_t low = first == 0xE0 ? 0xA0 : 0x80;
    const uint8_t high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const uint8_t low = first == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view text) {
  std::string result(text);
  for (size_t i = 0; i < result.size();) {
    const size_t length = Utf8Length(std::string_view(result).substr(i));
    if (length == 0) result[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return result;
}

std::string_view CutAtCharacter(std::string_view text, size_t most) {
  constexpr size_t kLongest = 4;
  if (text.size() <= most) return text;
  for (size_t back = 1; back < kLongest && back <= most; ++back) {
    if (Utf8Length(text.substr(most - back)) > back) return text.substr(0, most - back);
  }
  return text.substr(0, most);
}

bool SteersTerminal(std::string_view character) {
  return character.size() == 1 ? character < " " || character == "\x7f"
                               : character <= "\xc2\x9f" || ChangesDirection(character);
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t length = 0; !text.empty(); text.remove_prefix(std::max<size_t>(length, 1))) {
    length = Utf8Length(text);
    const std::string_view character = text.substr(0, length);
    printable += length == 0 || SteersTerminal(character) ? "?" : character;
  }
  return printable;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kMaxName = 64;
  if (name.size() > kMaxName) return {};
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/fresh_directory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kNameFront = "tmp";
constexpr std::string_view kRandom = "abcdefghijklmnopqrstuvwxyz0123456789_";
// No name of tempfile has these characters, and no hash in a module id.
constexpr std::string_view kAnyName = "tmpXXXXXXXX";
constexpr std::string_view kAnyHash = "_XXXXXXXX_";

// # LINE "PATH" FLAGS, and .file NUMBER "PATH"
constexpr std::string_view kMarker = "# ";
constexpr std::string_view kFile = ".file";
constexpr std::string_view kBlanks = " \t";

constexpr std::string_view kAskForPath[] = {"__builtin_FILE", "__builtin_source_location"};

bool IsFresh(std::string_view name) {
  return name.size() == kAnyName.size() && name.starts_with(kNameFront) &&
         name.find_first_not_of(kRandom, kNameFront.size()) == std::string_view::npos;
}

/// Returns the CRC-32 of a text in hexadecimal, as module ids have it.
std::string Crc32(std::string_view text) {
  constexpr uint32_t kPolynomial = 0xedb88320;
  uint32_t crc = ~uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  }
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", ~crc);
  return digits.data();
}

/// Replaces each `from` by `to`, which is as long.
void Replace(std::string_view from, std::string_view to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + 1)) {
    text->replace(at, to.size(), to);
  }
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns whether a path or a part of it ends before this character.
bool EndsPart(char c) { return c == '/' || c == '\0' || c == '"'; }

}  // namespace

FreshDirectory::FreshDirectory(std::string_view above, std::string_view name,
                               const std::string& file)
    : above_(above), name_(name), hash_("_" + Crc32(file) + "_") {}

std::optional<FreshDirectory> FreshDirectory::Of(const std::string& path) {
  const size_t end = path.rfind('/');
  if (end == std::string::npos || end < kAnyName.size() + 1 || path[0] != '/') return std::nullopt;
  const size_t begin = end - kAnyName.size();
  FreshDirectory fresh(path.substr(0, begin), path.substr(begin, kAnyName.size()), path);
  if (path[begin - 1] != '/' || !IsFresh(fresh.name_)) return std::nullopt;
  return fresh;
}

std::optional<FreshDirectory> FreshDirectory::InPtx(std::string_view ptx) {
  for (size_t at = ptx.find(kFile); at != std::string_view::npos; at = ptx.find(kFile, at + 1)) {
    std::string_view line = ptx.substr(at, ptx.find('\n', at) - at);
    line.remove_prefix(std::min(line.find('"'), line.size() - 1) + 1);
    auto fresh = Of(std::string(line.substr(0, line.find('"'))));
    if (fresh) return fresh;
  }
  return std::nullopt;
}

bool FreshDirectory::IsIn(std::string_view text) const { return Contains(text, name_); }

bool FreshDirectory::HasSibling(std::string_view text) const {
  for (size_t at = text.find(above_); at != std::string_view::npos;
       at = text.find(above_, at + 1)) {
    const std::string_view name = text.substr(at + above_.size(), kAnyName.size());
    if (IsFresh(name) && name != name_) return true;
  }
  return false;
}

std::optional<std::string> FreshDirectory::Hide(std::string text) const {
  if (Contains(text, kAnyName) || Contains(text, kAnyHash)) return std::nullopt;
  for (size_t at = text.find(name_); at != std::string::npos; at = text.find(name_, at + 1)) {
    const bool is_path = std::string_view(text).substr(0, at).ends_with(above_) &&
                         EndsPart(text.c_str()[at + name_.size()]);
    if (!is_path) return std::nullopt;
  }
  Replace(name_, kAnyName, &text);
  Replace(hash_, kAnyHash, &text);
  return text;
}

std::string FreshDirectory::Show(std::string text) const {
  Replace(kAnyName, name_, &text);
  Replace(kAnyHash, hash_, &text);
  return text;
}

bool FreshDirectory::IsInMarkersOnly(std::string_view text) const {
  const auto has = [text](std::string_view word) { return Contains(text, word); };
  return !has(hash_) && std::ranges::none_of(kAskForPath, has) && IsInLinesOnly(kMarker, text);
}

bool FreshDirectory::IsInFilesOnly(std::string_view ptx) const {
  return !Contains(ptx, hash_) && IsInLinesOnly(kFile, ptx);
}

bool FreshDirectory::IsInLinesOnly(std::string_view directive, std::string_view text) const {
  if (Contains(text, kAnyName) || Contains(text, kAnyHash)) return false;
  const std::string path = "\"" + above_ + name_ + "/";
  for (size_t at = text.find(name_); at != std::string_view::npos; at = text.find(name_, at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;  // or 0 in the first line
    std::string_view line = text.substr(begin, text.find('\n', at) - begin);
    const auto skip = [&line](std::string_view characters) {
      line.remove_prefix(std::min(line.find_first_not_of(characters), line.size()));
    };
    if (directive == kFile) skip(kBlanks);
    if (!line.starts_with(directive)) return false;
    line.remove_prefix(directive.size());
    skip(kBlanks);
    const size_t size = line.size();
    skip("0123456789");
    if (line.size() == size) return false;
    skip(kBlanks);
    if (!line.starts_with(path) || Contains(line.substr(path.size()), name_)) return false;
  }
  return true;
}

}  // namespace cccl_cache::standin

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

constexpr std::string_view kDecimal = "0123456789";
constexpr std::string_view kHexadecimal = "0123456789abcdef";

/// The forms of names of fresh directories. The marks in them are below.
constexpr std::string_view kForms[] = {
    "tmp********",                   // Python's tempfile
    "#-%%%%%%%%-%%%%%%%%-%%%%%%%%",  // DeepGEMM
};
/// A character that stands for random ones in a form.
struct Mark {
  char mark;
  std::string_view characters;
  size_t most;  ///< greatest number of characters; the least is one
};
constexpr Mark kMarks[] = {
    {'*', "abcdefghijklmnopqrstuvwxyz0123456789_", 1},
    {'%', kHexadecimal, 1},
    {'#', kDecimal, 7},  // a process number
};
/// The character in placeholders, which no mark stands for, and which is in no hash.
constexpr char kAny = 'X';
constexpr std::string_view kAnyHash = "_XXXXXXXX_";
constexpr std::string_view kAnyTime = "_YYYYYYYY_";

// # LINE "PATH" FLAGS, and .file NUMBER "PATH"
constexpr std::string_view kMarker = "# ";
constexpr std::string_view kFile = ".file";
constexpr std::string_view kBlanks = " \t";

constexpr std::string_view kLocation = "__builtin_source_location";
constexpr std::string_view kFileName = "__builtin_FILE";
// assert() of glibc 2.39: a condition, and then these words around a literal. As both sides of "?"
// are void, no value depends on the name of the file.
constexpr std::string_view kAssertFail = "__assert_fail";
constexpr std::string_view kAssertBegin = "? void (0) : __assert_fail (";
constexpr std::string_view kAssertEnd =
    "__builtin_FILE (), __builtin_LINE (), __extension__ __PRETTY_FUNCTION__))";

/// Returns the name with placeholders for random characters; "" if it does not have the form.
std::string PlaceholderIn(std::string_view form, std::string_view name) {
  std::string placeholder;
  for (const char c : form) {
    const Mark* const mark = std::ranges::find(kMarks, c, &Mark::mark);
    size_t size = name.starts_with(c) ? 1 : 0;
    if (mark != std::end(kMarks)) {
      size = std::min({name.find_first_not_of(mark->characters), name.size(), mark->most});
    }
    if (size == 0) return "";
    placeholder.append(size, mark == std::end(kMarks) ? c : kAny);
    name.remove_prefix(size);
  }
  return name.empty() ? placeholder : "";
}

/// Returns the placeholder for the name of a fresh directory; "" if it is no such name.
std::string PlaceholderOf(std::string_view name) {
  for (const std::string_view form : kForms) {
    if (std::string placeholder = PlaceholderIn(form, name); !placeholder.empty()) {
      return placeholder;
    }
  }
  return "";
}

/// Returns the CRC-32 of a text in hexadecimal, with the characters around it in a module id.
std::string HashOf(std::string_view text) {
  constexpr uint32_t kPolynomial = 0xedb88320;
  uint32_t crc = ~uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  }
  std::array<char, 11> digits{};
  std::snprintf(digits.data(), digits.size(), "_%08x_", ~crc);
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

/// Returns a part of a preprocessed text without line markers, and without blanks around each line.
std::string WithoutMarkers(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kMarker)) continue;
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    rest += line.substr(0, line.find_last_not_of(kBlanks) + 1);
  }
  return rest;
}

/// Returns whether a text is one string literal.
bool IsLiteral(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return false;
  size_t at = 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1 == text.size();
}

/// Returns whether what follows in a preprocessed text is the end of an assert(). Its file name
/// goes to __assert_fail() alone.
bool IsInAssert(std::string_view before, std::string_view rest) {
  const size_t begin = before.rfind(kAssertBegin);
  if (begin == std::string_view::npos || !rest.starts_with(kAssertEnd)) return false;
  const std::string words = WithoutMarkers(before.substr(begin + kAssertBegin.size()));
  return words.ends_with(',') && IsLiteral(std::string_view(words).substr(0, words.size() - 1));
}

/// Returns whether a preprocessed text uses __assert_fail() for assertions alone, and only declares
/// it. A function of that name that the program defines could compute with the name of the file.
bool AssertsOnly(std::string_view text) {
  constexpr size_t kBefore = kAssertBegin.find(kAssertFail);
  for (size_t at = text.find(kAssertFail); at != std::string_view::npos;
       at = text.find(kAssertFail, at + 1)) {
    if (at >= kBefore && text.substr(at - kBefore).starts_with(kAssertBegin)) continue;
    const size_t begin = text.rfind('\n', at) + 1;  // or 0 in the first line
    const std::string_view line = text.substr(begin, at - begin);
    if (!line.starts_with("extern ") || Contains(line, "constexpr")) return false;
  }
  return true;
}

/// Returns whether a path or a part of it ends before this character.
bool EndsPart(char c) { return c == '/' || c == '\0' || c == '"'; }

}  // namespace

FreshDirectory::FreshDirectory(std::string_view above, std::string_view name,
                               const std::string& file)
    : above_(above),
      name_{std::string(name), PlaceholderOf(name)},
      hashes_{{HashOf(file), std::string(kAnyHash)}} {}

std::optional<FreshDirectory> FreshDirectory::Of(const std::string& path) {
  const size_t end = path.rfind('/');
  if (path[0] != '/' || end == 0) return std::nullopt;
  const size_t begin = path.rfind('/', end - 1) + 1;
  FreshDirectory fresh(path.substr(0, begin), path.substr(begin, end - begin), path);
  if (fresh.placeholder().empty()) return std::nullopt;
  return fresh;
}

void FreshDirectory::HashTime(time_t changed, std::string_view working) {
  std::array<char, 26> time{};  // as ctime_r() needs
  if (ctime_r(&changed, time.data()) == nullptr) return;
  hashes_.push_back({HashOf(std::string(time.data()).append(working)), std::string(kAnyTime)});
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

bool FreshDirectory::IsIn(std::string_view text) const { return Contains(text, name_.text); }

bool FreshDirectory::HasSibling(std::string_view text) const {
  for (size_t at = text.find(above_); at != std::string_view::npos;
       at = text.find(above_, at + 1)) {
    const std::string_view name = text.substr(at + above_.size(), name_.text.size());
    if (name != name_.text && PlaceholderOf(name) == placeholder()) return true;
  }
  return false;
}

bool FreshDirectory::HasHash(std::string_view text) const {
  return std::ranges::any_of(hashes_,
                             [text](const Hidden& hash) { return Contains(text, hash.text); });
}

bool FreshDirectory::HasPlaceholder(std::string_view text) const {
  return Contains(text, placeholder()) || Contains(text, kAnyHash) || Contains(text, kAnyTime);
}

std::optional<std::string> FreshDirectory::Hide(std::string text) const {
  if (HasPlaceholder(text)) return std::nullopt;
  const std::string& name = name_.text;
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const bool is_path = std::string_view(text).substr(0, at).ends_with(above_) &&
                         EndsPart(text.c_str()[at + name.size()]);
    if (!is_path) return std::nullopt;
  }
  Replace(name, placeholder(), &text);
  for (const Hidden& hash : hashes_) Replace(hash.text, hash.placeholder, &text);
  return text;
}

std::string FreshDirectory::Show(std::string text) const {
  Replace(placeholder(), name_.text, &text);
  for (const Hidden& hash : hashes_) Replace(hash.placeholder, hash.text, &text);
  return text;
}

bool FreshDirectory::IsInModuleId(std::string_view id) const {
  if (!id.starts_with(hashes_.front().text)) return false;
  const std::string_view front = id.substr(0, id.find_last_not_of(kDecimal) + 1);
  if (front.size() == id.size() || front.size() < kAnyTime.size()) return true;
  const std::string_view last = front.substr(front.size() - kAnyTime.size());
  const bool is_hash =
      last.front() == '_' && last.find_first_not_of(kHexadecimal, 1) == last.size() - 1;
  return !is_hash || last == hashes_.back().text;
}

bool FreshDirectory::IsInMarkersOnly(std::string_view text) const {
  if (HasHash(text) || Contains(text, kLocation)) return false;
  if (Contains(text, kFileName) && !AssertsOnly(text)) return false;
  for (size_t at = text.find(kFileName); at != std::string_view::npos;
       at = text.find(kFileName, at + 1)) {
    const std::string_view before = text.substr(0, at);
    if (!IsInAssert(before, text.substr(at)) || IsOfThis(before)) return false;
  }
  return IsInLinesOnly(kMarker, text);
}

bool FreshDirectory::IsOfThis(std::string_view before) const {
  size_t marker = before.rfind("\n" + std::string(kMarker));
  if (marker == std::string_view::npos) return true;
  ++marker;
  return IsIn(before.substr(marker, before.find('\n', marker) - marker));
}

bool FreshDirectory::IsInFilesOnly(std::string_view ptx) const {
  return !HasHash(ptx) && IsInLinesOnly(kFile, ptx);
}

bool FreshDirectory::IsInLinesOnly(std::string_view directive, std::string_view text) const {
  if (HasPlaceholder(text)) return false;
  const std::string& name = name_.text;
  const std::string path = "\"" + above_ + name + "/";
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
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
    skip(kDecimal);
    if (line.size() == size) return false;
    skip(kBlanks);
    if (!line.starts_with(path) || Contains(line.substr(path.size()), name)) return false;
  }
  return true;
}

}  // namespace cccl_cache::standin

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/askable_files.h"

#include <limits.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <variant>

#include "client/src/calls/own_file.h"
#include "proto/options.h"

namespace cccl_cache {
namespace {

// Of the names that are kept. A whole CCCL has some 100 KB.
constexpr size_t kMaxNameBytes = size_t{16} << 20;

// Without what makes two spellings of one name: "." and repeated slashes. ".." stays: where it
// leads only the kernel knows.
std::string Tidy(std::string_view name) {
  std::string tidy(name.starts_with('/') ? "/" : "");
  while (!name.empty()) {
    const size_t slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (!component.empty() && component != ".") {
      if (!tidy.empty() && !tidy.ends_with('/')) tidy += '/';
      tidy += component;
    }
    if (slash == name.npos) break;
    name.remove_prefix(slash + 1);
  }
  return tidy;
}

bool GoesUp(std::string_view name) {
  for (size_t at = name.find(".."); at != name.npos; at = name.find("..", at + 1)) {
    const bool begins = at == 0 || name[at - 1] == '/';
    const bool ends = at + 2 == name.size() || name[at + 2] == '/';
    if (begins && ends) return true;
  }
  return false;
}

std::string_view DirectoryOf(std::string_view path) {
  return path.substr(0, std::max<size_t>(path.rfind('/'), 1));
}

// The characters that names usually consist of.
bool IsOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./~-+@%").find(c) != std::string_view::npos;
}

std::string Absolute(std::string_view path, std::string_view working_directory) {
  if (path.starts_with('/')) return Tidy(path);
  if (!working_directory.starts_with('/')) return {};
  return Tidy(std::string(working_directory).append("/").append(path));
}

}  // namespace

AskableFiles::AskableFiles(std::optional<Program> program) : program_(std::move(program)) {
  if (program_) AddDirectories();
}

void AskableFiles::AddDirectories() {
  const std::string& name = program_->name;
  const auto add = [this](std::string_view directory) {
    std::string absolute = Absolute(directory, program_->working_directory);
    if (!absolute.empty()) directories_.push_back(std::move(absolute));
  };
  add(".");
  add(name.substr(0, name.rfind('/') + 1));
  const auto parsed = ParseOptions(BuildKind::kNvrtc, program_->options);
  const auto* const options = std::get_if<std::vector<ParsedOption>>(&parsed);
  if (options == nullptr) return;  // a daemon refuses them
  for (const ParsedOption& option : *options) {
    if (option.rule != nullptr && option.rule->names_directory) add(option.value);
  }
}

bool AskableFiles::May(const std::string& path) {
  const std::string tidy = Tidy(path);
  if (IsBelowDirectories(tidy)) return true;
  if (!program_) return false;
  if (!learns_) StartToLearn();
  return IsNamed(tidy);
}

bool AskableFiles::IsBelowDirectories(std::string_view path) const {
  return std::ranges::any_of(directories_, [&](const std::string& directory) {
    if (!path.starts_with(directory)) return false;
    const std::string_view below = path.substr(directory.size());
    const bool inside = below.empty() || below.front() == '/' || directory == "/";
    return inside && !GoesUp(below);
  });
}

bool AskableFiles::IsNamed(std::string_view path) const {
  if (names_.contains(std::string(path))) return true;
  for (size_t slash = path.rfind('/'); slash != 0; slash = path.rfind('/', slash - 1)) {
    const std::string_view directory = path.substr(0, slash);
    const bool searched = IsBelowDirectories(directory) || others_.contains(std::string(directory));
    if (searched && names_.contains(std::string(path.substr(slash + 1)))) return true;
  }
  return false;
}

void AskableFiles::NoteAnswered(const std::string& path, std::string_view contents) {
  const std::string tidy = Tidy(path);
  const bool outside = !IsBelowDirectories(tidy);
  if (outside) others_.emplace(DirectoryOf(tidy));
  if (learns_) {
    Learn(contents, outside);
  } else {
    answered_.push_back(path);
  }
}

void AskableFiles::StartToLearn() {
  learns_ = true;
  for (const std::string_view text : program_->texts) Learn(text, false);
  for (const std::string& option : program_->options) Learn(option, false);
  for (const std::string& path : answered_) Learn(LookAtOwnFile(path, true).contents, false);
  answered_ = {};
}

void AskableFiles::Learn(std::string_view text, bool all) {
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '<') {
      const std::string_view rest = text.substr(at + 1, PATH_MAX);
      const size_t end = rest.find_first_of(c == '"' ? "\"\n" : ">\n");
      if (end != rest.npos && rest[end] != '\n') Keep(rest.substr(0, end), all);
    }
    if (!IsOfName(c)) {
      ++at;
      continue;
    }
    // A name that a macro makes a string of, or an option.
    size_t end = at;
    while (end < text.size() && IsOfName(text[end])) ++end;
    Keep(text.substr(at, std::min<size_t>(end - at, PATH_MAX)), false);
    at = end;
  }
}

void AskableFiles::Keep(std::string_view name, bool all) {
  const bool leads_out = name.starts_with('/') || GoesUp(name);
  if ((!all && !leads_out) || name.starts_with("//")) return;
  std::string tidy = Tidy(name);
  if (tidy.size() <= 1 || name_bytes_ + tidy.size() > kMaxNameBytes) return;
  const size_t bytes = tidy.size();
  if (names_.insert(std::move(tidy)).second) name_bytes_ += bytes;
}

}  // namespace cccl_cache

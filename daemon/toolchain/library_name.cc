// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/library_name.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace cccl_cache::daemon {

std::optional<LibraryName> LibraryName::Parse(std::string_view file, std::string_view stem) {
  if (!file.starts_with(stem)) return std::nullopt;
  std::string_view rest = file.substr(stem.size());
  if (!rest.starts_with(".so")) return std::nullopt;
  rest.remove_prefix(3);
  LibraryName name{std::string(file), {}};
  while (!rest.empty()) {
    int number = 0;
    if (rest.front() != '.') return std::nullopt;
    const char* const end = rest.data() + rest.size();
    const auto [after, error] = std::from_chars(rest.data() + 1, end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    name.numbers.push_back(number);
    rest = std::string_view(after, static_cast<size_t>(end - after));
  }
  return name;
}

std::vector<LibraryName> LibrariesIn(const std::string& directory, std::string_view stem) {
  std::vector<LibraryName> libraries;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    if (auto name = LibraryName::Parse(entry->path().filename().native(), stem)) {
      libraries.push_back(std::move(*name));
    }
    entry.increment(error);
  }
  std::ranges::sort(libraries, [](const LibraryName& a, const LibraryName& b) {
    return a.numbers.size() != b.numbers.size() ? a.numbers.size() < b.numbers.size()
                                                : a.numbers < b.numbers;
  });
  return libraries;
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/source.h"

#include <set>
#include <string_view>

#include "tests/support/fake_toolchain/questions.h"

namespace fake_toolchain {
namespace {

struct Include {
  std::string name;
  bool quoted = false;
};

/// Returns the file that a line includes, or an empty name.
Include ParseInclude(std::string_view line) {
  constexpr std::string_view kDirective = "#include ";
  if (!line.starts_with(kDirective)) return {};
  line.remove_prefix(kDirective.size());
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return {std::string(line.substr(1, end - 1)), line[0] == '"'};
}

class Preprocessor {
 public:
  Preprocessor(const Source& source, std::string& log) : source_(source), log_(log) {}

  bool Expand(const std::string& name, std::string_view text, std::string& result) {
    int line_number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end);
      ++line_number;
      const Include include = ParseInclude(line);
      if (include.name.empty()) {
        result += line;
      } else if (!ExpandInclude(include, result)) {
        log_ += name + "(" + std::to_string(line_number) +
                "): catastrophic error: cannot open source file \"" + include.name + "\"\n";
        return false;
      }
    }
    return true;
  }

 private:
  /// Expands each file once, as with #pragma once.
  bool ExpandInclude(const Include& include, std::string& result) {
    for (const Header& header : source_.headers) {
      if (header.name == include.name) return ExpandOnce(header.name, header.contents, result);
    }
    for (const std::string& directory : Directories(include.quoted)) {
      std::string path = directory.empty() ? include.name : directory + "/" + include.name;
      if (include.name.starts_with('/')) path = include.name;
      std::string contents;
      if (ReadFile(path, contents)) return ExpandOnce(path, contents, result);
    }
    return false;
  }

  bool ExpandOnce(const std::string& path, std::string_view text, std::string& result) {
    return !seen_.insert(path).second || Expand(path, text, result);
  }

  std::vector<std::string> Directories(bool quoted) const {
    std::vector<std::string> directories = source_.include_directories;
    if (!quoted) return directories;
    const size_t slash = source_.name.rfind('/');
    directories.insert(directories.begin(),
                       slash == std::string::npos ? std::string() : source_.name.substr(0, slash));
    return directories;
  }

  const Source& source_;
  std::string& log_;
  std::set<std::string> seen_;
};

}  // namespace

bool Preprocess(const Source& source, std::string& result, std::string& log) {
  return Preprocessor(source, log).Expand(source.name, source.text, result);
}

}  // namespace fake_toolchain

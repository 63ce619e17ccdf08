// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/command_line.h"

#include <algorithm>

namespace cccl_cache::standin {
namespace {

/// Environment variables that make a tool write additional files. The names are between spaces.
constexpr std::string_view kWriteMore =
    " AS_SECURE_LOG_FILE CAN_FINALIZE_DEBUG DUMP_KNOBS_TO_FILE FINALIZER_CUBIE ";

bool Has(std::string_view names, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         names.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool NamesOutput(std::string_view word) { return word == "-o" || word == "--output-file"; }

/// Returns whether the word is used as it is. tileiras replaces a word @FILE by the words in FILE.
bool IsPlain(std::string_view word) { return !word.starts_with('@'); }

/// Returns whether the word can only mean one file name, and not an option or a list of names.
bool IsFileName(std::string_view word) {
  return !word.empty() && word.front() != '-' && IsPlain(word) &&
         word.find_first_of(",\\\"'") == std::string_view::npos;
}

}  // namespace

std::optional<Assembly> ReadAssembly(const Tool& tool, const Words& words) {
  Assembly assembly;
  if (words.empty()) return std::nullopt;
  assembly.name = words[0].substr(words[0].rfind('/') + 1);
  const auto keep = [&assembly](std::string_view word) {
    assembly.options.append(word).push_back('\0');
  };
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool last = i + 1 == words.size();
    if (NamesOutput(word) && !last && assembly.output.empty()) {
      assembly.output = words[++i];
    } else if (Has(tool.with_next_word, word) && !last && IsPlain(words[i + 1])) {
      keep(word);
      keep(words[++i]);
    } else if (Has(tool.flags, word) || (word.find('=') != std::string_view::npos &&
                                         Has(tool.with_value, word.substr(0, word.find('='))))) {
      keep(word);
      if (Has(tool.showing_paths, word)) assembly.shows_paths = true;
    } else if (IsFileName(word) && assembly.input.empty()) {
      assembly.input = word;
    } else {
      return std::nullopt;
    }
  }
  if (assembly.input.empty() || !IsFileName(assembly.output)) return std::nullopt;
  return assembly;
}

bool AsksForVersion(const Words& words) {
  return words.size() == 2 && (words[1] == "--version" || words[1] == "-V");
}

Environment ReadEnvironment(const Tool& tool, const char* const* variables) {
  Environment environment;
  std::vector<std::string_view> counts;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (Has(kWriteMore, name)) environment.writes_more = true;
    if (std::ranges::any_of(tool.variables,
                            [name](std::string_view front) { return name.starts_with(front); })) {
      counts.push_back(variable);
    }
  }
  std::ranges::sort(counts);
  for (const std::string_view variable : counts) {
    environment.part_of_key.append(variable).push_back('\0');
  }
  return environment;
}

}  // namespace cccl_cache::standin

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/command_line.h"

#include <algorithm>
#include <utility>

#include "client/standin/word_list.h"

namespace cccl_cache::standin {
namespace {

/// Environment variables that make a tool write additional files. The names are between spaces.
constexpr std::string_view kWriteMore =

    " AS_SECURE_LOG_FILE CAN_FINALIZE_DEBUG DUMP_KNOBS_TO_FILE FINALIZER_CUBIE DEPENDENCIES_OUTPUT "
    "SUNPRO_DEPENDENCIES ";

constexpr std::string_view kRelocatable = "--device-c";
constexpr std::string_view kHostCode = "--gen_c_file_name";

/// Returns whether the word begins with one of the names, which are between spaces.
bool BeginsWith(std::string_view names, std::string_view word) {
  for (size_t begin = names.find_first_not_of(' '); begin != std::string_view::npos;
       begin = names.find_first_not_of(' ')) {
    names.remove_prefix(begin);
    const std::string_view name = names.substr(0, names.find(' '));
    if (word.starts_with(name)) return true;
    names.remove_prefix(name.size());
  }
  return false;
}

/// Returns whether the word is used as it is. tileiras replaces a word @FILE by the words in FILE.
bool IsPlain(std::string_view word) { return !word.starts_with('@'); }

/// Returns whether the word can only mean one file name, and not an option or a list of names.
bool IsFileName(std::string_view word) {
  return !word.empty() && word.front() != '-' && IsPlain(word) &&
         word.find_first_of(",\\\"'") == std::string_view::npos;
}

void ShowPaths(ToolRun* run) {
  const auto show = [run](const std::string& path) {
    run->shown_paths.append(path).push_back('\0');
  };
  std::ranges::for_each(run->inputs, show);
  if (run->tool->shows_outputs) std::ranges::for_each(run->outputs, show);
}

}  // namespace

std::optional<std::string> ToolRun::Hide(std::string text) const {
  auto hidden = temporary_name.Hide(std::move(text));
  if (!hidden || !fresh) return hidden;
  return fresh->Hide(*std::move(hidden));
}

std::optional<std::string> ToolRun::Show(std::string text) const {
  auto shown = temporary_name.Show(std::move(text));
  if (!shown || !fresh) return shown;
  return fresh->Show(*std::move(shown));
}

std::optional<ToolRun> ReadToolRun(const Tool& tool, const Words& words) {
  if (words.empty()) return std::nullopt;
  ToolRun run{.tool = &tool, .name = words[0].substr(words[0].rfind('/') + 1)};
  const auto keep = [&run](std::string_view word) { run.options.append(word).push_back('\0'); };
  const bool writes_inputs = std::ranges::find(words, tool.writing_inputs) != words.end();
  const bool writes_code = std::ranges::find(words, kHostCode) != words.end();
  bool shows_paths = tool.shows_inputs;
  std::string file;         // the input that is no option's value
  std::string given = " ";  // options that name files
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool last = i + 1 == words.size();
    const bool names_input = Has(tool.inputs, word);
    if (names_input && writes_inputs && !writes_code && !last && IsPlain(words[i + 1])) {
      keep(word);
      keep(words[++i]);
    } else if ((names_input || Has(tool.outputs, word)) && !last && IsFileName(words[i + 1])) {
      if (Has(given, word)) return std::nullopt;
      given.append(word).push_back(' ');
      if (tool.shows_outputs) keep(word);
      if (names_input && writes_inputs) run.module_id = run.outputs.size();
      (names_input && !writes_inputs ? run.inputs : run.outputs).push_back(words[++i]);
    } else if (Has(tool.with_next_word, word) && !last && IsPlain(words[i + 1])) {
      keep(word);
      keep(words[++i]);
    } else if (BeginsWith(tool.prefixes, word) && !BeginsWith(tool.refused, word)) {
      keep(word);
    } else if (Has(tool.flags, word) || (word.find('=') != std::string_view::npos &&
                                         Has(tool.with_value, word.substr(0, word.find('='))))) {
      keep(word);
      if (Has(tool.showing_paths, word)) shows_paths = true;
      if (word == kRelocatable) run.links_device_code = true;
    } else if (IsFileName(word) && file.empty()) {
      file = word;
    } else {
      return std::nullopt;
    }
  }
  if (file.empty() || run.outputs.empty()) return std::nullopt;
  // The module id, which is part of names that nvlink sees, is not known.
  if (run.links_device_code && writes_inputs && !writes_code) return std::nullopt;
  if (run.outputs.size() > 1 && !tool.shows_outputs) return std::nullopt;  // "-o" by two names
  run.inputs.insert(run.inputs.begin(), file);
  if (shows_paths) ShowPaths(&run);
  for (const std::string& word : words) {
    const auto name = TemporaryName::In(word);
    if (name) run.temporary_name = *name;
    if (name) break;
  }
  auto options = run.temporary_name.Hide(std::move(run.options));
  auto paths = run.temporary_name.Hide(std::move(run.shown_paths));
  if (!options || !paths) return std::nullopt;
  run.options = *std::move(options);
  run.shown_paths = *std::move(paths);
  return run;
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

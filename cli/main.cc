// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/standard_descriptors.h"
#include "cli/terminal/command.h"
#include "cli/terminal/command_tree.h"

namespace {

using cccl_cache::cli::CommonOptions;

/// Returns whether the word is the name of a command that compiles or links.
bool Compiles(std::string_view word) { return word == "build" || word == "link" || word == "nvvm"; }

/// If the command line is `explain -- build ...` (or link or nvvm), removes `explain` and `--` and
/// returns true, so that the explained command is parsed.
bool TakeExplain(std::vector<std::string>* words) {
  const auto mark = std::find(words->begin(), words->end(), "--");
  const auto explain = std::find(words->begin(), mark, "explain");
  if (explain == mark || mark == words->end() || mark + 1 == words->end()) return false;
  if (std::any_of(words->begin(), explain, Compiles) || !Compiles(*(mark + 1))) return false;
  words->erase(mark);
  words->erase(explain);
  return true;
}

/// Removes the `--` from a command line such as `build -- k.cu --arch sm_90`, so that options after
/// it are parsed. Keeps it if the name of an existing file after it begins with a dash.
void DropMark(std::vector<std::string>* words) {
  const auto mark = std::find(words->begin(), words->end(), "--");
  if (mark == words->end() || std::none_of(words->begin(), mark, Compiles)) return;
  const bool names_file = std::any_of(mark + 1, words->end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with("-") && access(word.c_str(), F_OK) == 0;
  });
  if (!names_file) words->erase(mark);
}

/// Removes the program that `run` starts and its arguments from `words`, and returns them. They
/// begin after `--`, or else with the first word that is neither an option nor an option's value.
std::vector<std::string> TakeProgram(std::vector<std::string>* words) {
  const auto after_options = [words](auto word) {
    for (; word != words->end() && word->starts_with("-") && *word != "--"; ++word) {
      const bool has_value =
          *word == "--group" || *word == "--how" || *word == "--socket" || *word == "--wait";
      if (has_value && word + 1 != words->end()) ++word;
    }
    return word;
  };
  auto program = after_options(words->begin());
  if (program == words->end() || *program != "run") return {};
  program = after_options(program + 1);
  if (program != words->end() && *program == "--") program = words->erase(program);
  std::vector<std::string> taken(program, words->end());
  words->erase(program, words->end());
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  cccl_cache::OccupyStandardDescriptors();
  CommonOptions common;
  int exit_code = cccl_cache::cli::kDone;
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool alone = words.empty();
  common.explain = TakeExplain(&words);
  DropMark(&words);
  common.program = TakeProgram(&words);
  // CLI11 reports no options if the command line is wrong, so --json is searched for here.
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  std::reverse(words.begin(), words.end());  // CLI11 expects the words in reverse order
  const auto app = cccl_cache::cli::MakeCommandTree(&common, &exit_code);
  if (alone) {
    std::fputs(app->help().c_str(), stderr);
    return cccl_cache::cli::kUsage;
  }
  try {
    app->parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app->exit(error);  // --help, --version
    common.json = json;
    return cccl_cache::cli::FailUsage(cccl_cache::cli::DescribeMisuse(*app, error), common);
  }
  return exit_code;
}

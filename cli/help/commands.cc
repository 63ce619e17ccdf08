// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The commands that print help, completions and man pages.
#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/help/completion.h"
#include "cli/terminal/command.h"
#include "cli/terminal/command_tree.h"

namespace cccl_cache::cli {
namespace {

/// Prints the help of the command that `words` name, the same text as `WORDS... --help`.
int PrintHelp(const CLI::App& tree, const std::vector<std::string>& words,
              const CommonOptions& common) {
  const CLI::App* command = &tree;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> below = CommandsOf(*command);
    const auto named = std::find_if(below.begin(), below.end(), [&word](const CLI::App* each) {
      return each->get_name() == word;
    });
    if (named == below.end()) return FailUsage(DescribeUnknown(*command, word), common);
    command = *named;
  }
  const CLI::App* parent = command->get_parent();
  return Print(command->help(parent == nullptr ? "" : FullName(*parent)));
}

template <typename Use>
int WithWholeTree(const CommonOptions& common, Use use) {
  CommonOptions all = common;
  all.all_options = true;
  int unused = kDone;
  return use(*MakeCommandTree(&all, &unused));
}

}  // namespace

void AddHelpCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("help", "Show the help of a command");
  command->group("Help");
  command->footer("Exit codes: 0 done, 2 usage.\nExample: cccl-cache-cli help snapshot create");
  const auto words = std::make_shared<std::vector<std::string>>();
  AddWhenParsed(command, common, [command, words] {
    command->add_option("COMMAND", *words, "Command, and the command below it");
  });
  command->callback([words, &common, exit_code] {
    *exit_code = WithWholeTree(
        common, [&](const CLI::App& tree) { return PrintHelp(tree, *words, common); });
  });
}

void AddCompletionCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "completion", "Print a script that completes commands and options in a shell");
  command->group("Help");
  command->footer(
      "Where cccl-cache-cli was installed for all users, the scripts are there already. For "
      "yourself:\n"
      "bash: put it into ~/.local/share/bash-completion/completions/cccl-cache-cli if you have the "
      "package bash-completion, or write the example below into ~/.bashrc.\n"
      "zsh: put it as _cccl-cache-cli into a directory of $fpath, before compinit runs.\n"
      "fish: put it into ~/.config/fish/completions/cccl-cache-cli.fish.\n"
      "Exit codes: 0 done, 2 usage, 5 any other error.\n"
      "Example: source <(cccl-cache-cli completion bash)");
  const auto shell = std::make_shared<std::string>();
  AddWhenParsed(command, common, [command, shell] {
    AcceptOnly(command->add_option("SHELL", *shell, "bash, zsh or fish")->required(),
               {"bash", "zsh", "fish"});
  });
  command->callback([shell, &common, exit_code] {
    *exit_code = WithWholeTree(common, [&](const CLI::App& tree) {
      if (*shell == "zsh") return Print(ZshCompletion(tree));
      return Print(*shell == "fish" ? FishCompletion(tree) : BashCompletion(tree));
    });
  });
}

}  // namespace cccl_cache::cli

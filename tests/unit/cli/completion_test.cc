// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/help/completion.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <catch2/catch.hpp>

#include "cli/terminal/command_tree.h"
#include "tests/unit/cli/said.h"

namespace completion_test {

using namespace cccl_cache::cli;

struct Tree {
  CommonOptions common = {.all_options = true};
  int exit_code = kDone;
  std::unique_ptr<CLI::App> app = MakeCommandTree(&common, &exit_code);
};

TEST_CASE("each completion has every command and every option of the tree") {
  const Tree tree;
  const std::string bash = BashCompletion(*tree.app);
  const std::string zsh = ZshCompletion(*tree.app);
  const std::string fish = FishCompletion(*tree.app);
  for (const CLI::App* command : WholeTree(*tree.app)) {
    INFO(FullName(*command));
    CHECK(Has(bash, "    '" + PathOf(*command) + "')\n"));
    std::string function = "_" + FullName(*command);
    std::replace(function.begin(), function.end(), ' ', '_');
    CHECK(Has(zsh, "\n" + function + "() {\n"));
    const std::string at = " -n '__cccl_cache_cli_at " + PathOf(*command) + "'";
    CHECK(Has(fish, at));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        INFO(name);
        CHECK(Has(bash, "--" + name));
        CHECK(Has(zsh, "--" + name + (TakesValue(*option) ? "=[" : "[")));
        CHECK(Has(fish, " -l " + name + " "));
      }
    }
  }
}

TEST_CASE("completions offer each command's own choices for its options and arguments") {
  const Tree tree;
  const std::string bash = BashCompletion(*tree.app);
  CHECK(Has(bash, "'build:--emit') words='cubin ptx ltoir optixir' ;;"));
  CHECK(Has(bash, "'link:--emit') words='cubin ptx' ;;"));
  CHECK(Has(bash, "'completion')\n      words='bash zsh fish'"));
  const std::string zsh = ZshCompletion(*tree.app);
  CHECK(Has(zsh, ":value:(cubin ptx ltoir optixir)'"));
  CHECK(Has(zsh, "':value:(bash zsh fish)'"));
  const std::string fish = FishCompletion(*tree.app);
  CHECK(Has(fish, "at build' -l emit -x -a 'cubin ptx ltoir optixir'"));
  CHECK(Has(fish, "at completion' -a 'bash zsh fish'"));
}

TEST_CASE("quotes, colons and brackets of a description stay text in every shell") {
  CLI::App app("", "cccl-cache-cli");
  app.add_option("--odd", "it's [a]: b\\c");
  CHECK(Has(ZshCompletion(app), "'(--odd)--odd=[it'\\''s \\[a\\]\\: b\\\\c]:value:_files'"));
  CHECK(Has(FishCompletion(app), " -d 'it\\'s [a]: b\\\\c'\n"));
}

TEST_CASE("completion prints the script of the named shell, and refuses unknown shells") {
  CHECK(RunCommand({"completion", "bash"}).output == BashCompletion(*Tree().app));
  CHECK(RunCommand({"completion", "zsh"}).output == ZshCompletion(*Tree().app));
  CHECK(RunCommand({"completion", "fish"}).output == FishCompletion(*Tree().app));
  CHECK(RunCommand({"completion", "tcsh"}).exit_code == 2);
  CHECK(RunCommand({"completion"}).exit_code == 2);
}

}  // namespace completion_test

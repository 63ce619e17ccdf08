// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <catch2/catch.hpp>

#include "cli/terminal/command_tree.h"
#include "tests/unit/cli/said.h"

namespace help_test {

using namespace cccl_cache::cli;

/// Returns the output of `words --help`.
std::string HelpOption(const std::string& words) {
  CommonOptions common;
  int exit_code = kDone;
  const auto tree = MakeCommandTree(&common, &exit_code);
  try {
    tree->parse(words + " --help");
  } catch (const CLI::CallForHelp&) {
    return tree->help();
  }
  return "";
}

TEST_CASE("help COMMAND prints what COMMAND --help prints, for each command") {
  CommonOptions common = {.all_options = true};
  int exit_code = kDone;
  const auto tree = MakeCommandTree(&common, &exit_code);
  for (const CLI::App* command : WholeTree(*tree)) {
    const std::string path = PathOf(*command);
    INFO(path);
    std::vector<std::string> words = CLI::detail::split_up(path);
    words.insert(words.begin(), "help");
    const Said said = RunCommand(words);
    CHECK(said.exit_code == 0);
    CHECK(said.output == HelpOption(path));
    CHECK(Has(said.output, "Usage: " + FullName(*command)));
    const size_t example = said.output.find("Example: ");
    REQUIRE(example != std::string::npos);
    CHECK(Has(said.output.substr(example), FullName(*command)));
  }
}

TEST_CASE("help shows options that are added when the command is parsed") {
  CHECK(Has(RunCommand({"help", "build"}).output, "--name-expression"));
  CHECK(Has(RunCommand({"help", "run"}).output, "--how audit|preload"));
}

TEST_CASE("help shows the value that a flag may have") {
  CHECK(Has(HelpOption("run"), "--report[=each] "));
  CHECK(Has(HelpOption("stats"), "--watch[=SECONDS] "));
}

TEST_CASE("help shows the default name of a result") {
  CHECK(Has(HelpOption("link"), "(default: linked.cubin"));
  CHECK(Has(HelpOption("build"), "(default: the name of the in"));
  CHECK(Has(HelpOption("nvvm"), "compute_NN"));
}

TEST_CASE("help for an unknown command has the error of that command") {
  const Said top = RunCommand({"help", "biuld"});
  CHECK(top.exit_code == 2);
  CHECK(top.output.empty());
  CHECK(top.errors == RunCommand({"biuld"}).errors);
  const Said below = RunCommand({"help", "snapshot", "creat"});
  CHECK(below.exit_code == 2);
  CHECK(below.errors == RunCommand({"snapshot", "creat"}).errors);
  CHECK(RunCommand({"help", "build", "kernel.cu"}).exit_code == 2);
}

}  // namespace help_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/help/man_page.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <catch2/catch.hpp>

#include "cli/terminal/command_tree.h"
#include "tests/unit/cli/said.h"

namespace man_page_test {

using namespace cccl_cache::cli;

std::vector<ManPage> AllPages() {
  CommonOptions common = {.all_options = true};
  int exit_code = kDone;
  return ManPages(*MakeCommandTree(&common, &exit_code), 1, "cccl-cached 1.2.3", "cccl-cached(8)");
}

std::string TextOf(const std::string& file) {
  const std::vector<ManPage> pages = AllPages();
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&file](const ManPage& page) { return page.file == file; });
  return found == pages.end() ? "" : found->text;
}

TEST_CASE("troff shows hyphens, backslashes, quotes and leading dots unchanged") {
  CHECK(TroffText("--emit") == "\\-\\-emit");
  CHECK(TroffText("a\\n") == "a\\en");
  CHECK(TroffText(".so /etc/passwd") == "\\&.so /etc/passwd");
  CHECK(TroffText("'br") == "\\&\\(aqbr");
  CHECK(TroffText("\"$(x)\" ~ ^ `y`") == "\\(dq$(x)\\(dq \\(ti \\(ha \\(gay\\(ga");
  CHECK(TroffText("a\n.b") == "a .b");
}

TEST_CASE("the program and each command have a page, subcommands have none") {
  const std::vector<ManPage> pages = AllPages();
  CommonOptions common;
  int exit_code = kDone;
  CHECK(pages.size() == 1 + CommandsOf(*MakeCommandTree(&common, &exit_code)).size());
  CHECK(Has(TextOf("cccl-cache-cli.1"), "\\fBcccl\\-cache\\-cli\\-build\\fR(1)"));
  CHECK(TextOf("cccl-cache-cli-snapshot-create.1").empty());
  CHECK(Has(TextOf("cccl-cache-cli-snapshot.1"), ".SS create\n"));
  CHECK(Has(TextOf("cccl-cache-cli-snapshot.1"), "\\fB\\-\\-all\\-users\\fR"));
}

TEST_CASE("each page has the sections of a man page") {
  for (const ManPage& page : AllPages()) {
    INFO(page.file);
    CHECK(page.text.starts_with(".TH \"CCCL\\-CACHE\\-CLI"));
    for (const char* part : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
                             "ENVIRONMENT", "EXAMPLES", "SEE ALSO"}) {
      CHECK(Has(page.text, std::string(".SH ") + part + "\n"));
    }
    CHECK(Has(page.text, "\\fBcccl\\-cached\\fR(8)"));
  }
}

TEST_CASE("examples, exit codes and variables of a footer are separate sections") {
  CLI::App app("Does it.", "it");
  app.footer(
      "More about it.\nExit codes: 0 done, 2 wrong, or worse.\nEnvironment: IT_NOW hurries it.\n"
      "Example: it --now");
  CLI::App* below = app.add_subcommand("below", "Does less");
  below->footer("Environment: LESS is less.\nExample: it below");
  const std::vector<ManPage> pages = ManPages(app, 1, "it 1", "that(8)");
  REQUIRE(pages.size() == 2);
  const std::string& text = pages[0].text;
  CHECK(Has(text, "it \\- Does it\n"));
  CHECK(Has(text, "Does it.\n.PP\nMore about it.\n.SH"));
  CHECK(Has(text, ".SH EXIT STATUS\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB2\\fR\nwrong, or worse\n.SH"));
  CHECK(Has(text, ".TP\n\\fBIT_NOW\\fR\nhurries it.\n"));
  CHECK(Has(text, ".EX\nit \\-\\-now\n.EE\n"));
  CHECK_FALSE(Has(text, "LESS"));
  CHECK(Has(pages[1].text, "\\fB2\\fR\nwrong, or worse\n"));
  CHECK(Has(pages[1].text, "\\fBIT_NOW\\fR"));
  CHECK(Has(pages[1].text, "\\fBLESS\\fR"));
  CHECK_FALSE(Has(pages[1].text, "now"));
}

}  // namespace man_page_test

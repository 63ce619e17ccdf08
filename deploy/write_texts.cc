// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// write_texts VERSION DIRECTORY: writes the man pages (man/) and the completions (share/) that are
// installed.
#include <CLI/App.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "cli/help/completion.h"
#include "cli/help/man_page.h"
#include "cli/terminal/command_tree.h"
#include "daemon/configuration/command_line.h"

namespace {

using namespace cccl_cache::cli;

bool Write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file);
  stream << text;
  stream.close();
  if (!stream) std::cerr << "write_texts: can't write " << file << "\n";
  return stream.good();
}

bool WritePages(const std::vector<ManPage>& pages, const std::filesystem::path& directory) {
  bool written = true;
  for (const ManPage& page : pages) written = Write(directory / page.file, page.text) && written;
  return written;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: write_texts VERSION DIRECTORY\n";
    return 2;
  }
  const std::string version = std::string("cccl-cached ") + argv[1];
  const std::filesystem::path directory = argv[2];
  CommonOptions common{.all_options = true};
  int unused = 0;
  const auto tree = MakeCommandTree(&common, &unused);
  bool written = true;
  cccl_cache::daemon::ReadFlags([&](const CLI::App& flags) {
    written = WritePages(ManPages(flags, 8, version, "cccl-cache-cli(1)"), directory / "man/man8");
  });
  written &= WritePages(ManPages(*tree, 1, version, "cccl-cached(8)"), directory / "man/man1");
  const std::filesystem::path share = directory / "share";
  written &= Write(share / "bash-completion/completions/cccl-cache-cli", BashCompletion(*tree));
  written &= Write(share / "zsh/site-functions/_cccl-cache-cli", ZshCompletion(*tree));
  written &= Write(share / "fish/vendor_completions.d/cccl-cache-cli.fish", FishCompletion(*tree));
  return written ? 0 : 1;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Prints the files below a directory of headers whose paths can become numbers, by the daemon's own
// scan. Prints `pasted` too if a name that shows paths can be pasted from all of them.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "daemon/core/closure/path_uses.h"

using namespace cccl_cache::daemon;

int main(int count, char** arguments) {
  PathUses all;
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(arguments[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      const std::string below = entry.path().lexically_relative(arguments[i]);
      const PathUses uses = PathUsesIn(text, IsOfCccl(below, text));
      if (uses.as_number) std::cout << "number " << below << "\n";
      if (uses.doubts_assertions) std::cout << "doubts " << below << "\n";
      all |= uses;
    }
  }
  if (PastedNames(all.parts).path_token) std::cout << "pasted\n";
}

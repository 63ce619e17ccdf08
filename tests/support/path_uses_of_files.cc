// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Scans all files below the given directories as the daemon scans headers. Prints "number FILE" if
// the file's path can become a number, and "doubts FILE" for `doubts_assertions`. Prints "pasted"
// if the files together can paste a name that shows paths.
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

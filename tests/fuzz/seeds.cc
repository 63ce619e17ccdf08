// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The option of every fuzz target that writes its seeds: `x_fuzz --write-seeds DIRECTORY`.
#include "tests/fuzz/seeds.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace {

bool WriteSeeds(const std::string& directory) {
  size_t count = 0;
  for (const std::string& seed : cccl_cached_fuzz::Seeds()) {
    std::ofstream file(directory + "/seed-" + std::to_string(count++), std::ios::binary);
    file << seed;
    if (!file.flush()) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc != 3 || std::string_view((*argv)[1]) != "--write-seeds") return 0;
  const char* directory = (*argv)[2];
  if (WriteSeeds(directory)) std::exit(EXIT_SUCCESS);
  std::fprintf(stderr, "the seeds can't be written into %s\n", directory);
  std::exit(EXIT_FAILURE);
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_closures DAEMON_SOCKET DIRECTORY NAMES ROUNDS
//
// Measures hits of three programs in turn. "with" includes headers from DIRECTORY. For them, the
// compiler looks up NAMES names: half in a first -I without these headers, half in a second -I with
// them. "library" includes headers of a library like CuPy's programs: kLibraryHeaders headers, in
// subdirectories that only the last of four -I has. "without" includes none.
#include <cccl_cache/client.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

const std::string kKernel = "extern \"C\" __global__ void k() {}\n";

// Each header makes 4 names. The total is 272, as for a program of CuPy.
constexpr int kLibraryHeaders = 68;
constexpr int kHeadersInDirectory = 4;

/// Writes a header unless an earlier run did, because a file that has just changed is read at each
/// hit.
void WriteOnce(const std::filesystem::path& header, int number) {
  if (!std::filesystem::exists(header)) std::ofstream(header) << "// " << number << "\n";
}

/// Makes the headers, and returns a program that includes them.
std::string SourceWithHeaders(const std::filesystem::path& directory, int headers) {
  std::filesystem::create_directories(directory / "empty");
  std::filesystem::create_directories(directory / "full");
  std::string source;
  for (int i = 0; i < headers; ++i) {
    const std::string name = "header" + std::to_string(i) + ".h";
    WriteOnce(directory / "full" / name, i);
    source += "#include <" + name + ">\n";
  }
  return source + kKernel;
}

/// Like SourceWithHeaders, with the headers of a library.
std::string SourceWithLibrary(const std::filesystem::path& directory) {
  for (const char* empty : {"cub", "thrust", "libcudacxx"}) {
    std::filesystem::create_directories(directory / empty);
  }
  std::string source;
  for (int i = 0; i < kLibraryHeaders; ++i) {
    const std::string part = "library/part" + std::to_string(i / kHeadersInDirectory);
    std::filesystem::create_directories(directory / "include" / part);
    const std::string name = part + "/header" + std::to_string(i) + ".h";
    WriteOnce(directory / "include" / name, i);
    source += "#include <" + name + ">\n";
  }
  return source + kKernel;
}

/// Returns the program; `source` must outlive it.
cccl_cache::NvrtcBuild Program(const std::string& source, const std::string& directory,
                               std::initializer_list<const char*> searched) {
  cccl_cache::NvrtcBuild build;
  build.source = source;
  build.name = "kernel.cu";
  build.options = {"-arch=sm_90"};
  for (const char* each : searched) build.options.push_back("-I" + directory + "/" + each);
  return build;
}

/// Returns whether the build was a hit. If `first`, a compile counts too.
bool Ask(cccl_cache::Client& client, const cccl_cache::NvrtcBuild& build, bool first) {
  const auto result = client.Build(build, {});
  if (result && result->outcome() == cccl_cache::Outcome::kHit) return true;
  if (result && first && result->outcome() == cccl_cache::Outcome::kBuilt) return true;
  std::fprintf(stderr, "another outcome than expected: %s\n",
               result ? std::string(result->log()).c_str() : result.error().message.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_closures DAEMON_SOCKET DIRECTORY NAMES ROUNDS\n");
    return 2;
  }
  auto client =
      cccl_cache::Client::Open({.socket = argv[1], .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client) return 5;
  const std::string source = SourceWithHeaders(argv[2], std::atoi(argv[3]) / 2);
  const std::string library = SourceWithLibrary(argv[2]);
  const std::array programs = {
      Program(source, argv[2], {"empty", "full"}),
      Program(library, argv[2], {"cub", "thrust", "libcudacxx", "include"}),
      Program(kKernel, argv[2], {"empty", "full"})};
  constexpr std::array kSides = {"with", "library", "without"};
  for (const auto& program : programs) {
    if (!Ask(*client, program, true)) return 5;
  }
  for (int round = 0; round < std::atoi(argv[4]); ++round) {
    for (size_t i = 0; i < programs.size(); ++i) {
      const auto begin = Clock::now();
      if (!Ask(*client, programs[i], false)) return 5;
      const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
      std::printf("%s\t%.2f\n", kSides[i], took.count());
    }
  }
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_misses DAEMON_SOCKET NVRTC SOURCE ROUNDS [RAW_OPTION]...
//
// Compiles SOURCE with another ROUND each time: by NVRTC in this process (its first call is not
// counted), and through a daemon that has never seen the text. Sides: raw, ours.
#include <cccl_cache/client.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/raw_nvrtc.h"

namespace {

using Clock = std::chrono::steady_clock;

/// The same program for both sides, and one that no daemon has seen.
std::string Text(const std::string& source, int round) {
  return "// " + std::to_string(getpid()) + "\n#define ROUND " + std::to_string(round) + "\n" +
         source;
}

void Print(const char* side, Clock::time_point begin) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  std::printf("%s\t%.0f\n", side, took.count());
}

bool AskRaw(cccl_cached::RawNvrtc& nvrtc, const std::string& text,
            const std::vector<std::string>& options, bool counted) {
  const auto begin = Clock::now();
  if (nvrtc.Compile(text, options).empty()) return false;
  if (counted) Print("raw", begin);
  return true;
}

bool AskDaemon(cccl_cache::Client& client, const std::string& text, bool counted) {
  cccl_cache::NvrtcBuild build;
  build.source = text;
  build.name = "kernel.cu";
  build.options = {"-arch=sm_90"};
  build.append_toolchain_headers = true;
  cccl_cache::BuildOptions options;
  options.wanted = {cccl_cache::Kind::kCubin};
  const auto begin = Clock::now();
  const auto result = client.Build(build, options);
  if (!result || result->outcome() != cccl_cache::Outcome::kBuilt) {
    std::fprintf(stderr, "ours: %s\n",
                 result ? std::string(result->log()).c_str() : result.error().message.c_str());
    return false;
  }
  if (counted) Print("ours", begin);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: bench_misses DAEMON_SOCKET NVRTC SOURCE ROUNDS [RAW_OPTION]...\n");
    return 2;
  }
  auto client = cccl_cache::Client::Open(argv[1]);
  const std::unique_ptr<cccl_cached::RawNvrtc> nvrtc = cccl_cached::RawNvrtc::Load(argv[2]);
  std::ifstream file(argv[3], std::ios::binary);
  const std::string source((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  if (!client || nvrtc == nullptr || source.empty()) return 5;
  const std::vector<std::string> options(argv + 5, argv + argc);
  for (int round = 0; round <= std::atoi(argv[4]); ++round) {
    const std::string text = Text(source, round);
    if (!AskRaw(*nvrtc, text, options, round > 0)) return 5;
    if (!AskDaemon(*client, text, round > 0)) return 5;
  }
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_process_hits SOCKET SIZE ROUNDS
//
// Measures builds whose answers the cache of this process has, through the C interface, with a
// source of SIZE bytes. For comparison, hashes and compares the source alone, which is the least
// work of such a hit. Each line is the mean of a thousand repetitions.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "cccl_cache/client_c.h"

namespace {

constexpr int kInARow = 1000;

template <typename Once>
void Report(const char* side, Once once) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kInARow; ++i) once();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  std::printf("%s\t%.4f\n", side, took.count() / kInARow);
}

cccl_cache_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }

/// Builds the program. Returns whether the process cache answered.
bool Build(cccl_cache_client* client, const cccl_cache_nvrtc& program) {
  cccl_cache_result* result = nullptr;
  if (cccl_cache_build_nvrtc(client, &program, nullptr, &result, nullptr) != CCCL_CACHE_OK) {
    return false;
  }
  cccl_cache_result_info info = {};
  info.struct_size = sizeof(info);
  cccl_cache_result_describe(result, &info);
  cccl_cache_result_free(result);
  return info.tier == CCCL_CACHE_TIER_PROCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_process_hits SOCKET SIZE ROUNDS\n");
    return 2;
  }
  cccl_cache_open_options options = {};
  options.struct_size = sizeof(options);
  options.socket = Bytes(argv[1]);
  options.process_cache_bytes = uint64_t{64} << 20;
  cccl_cache_client* client = nullptr;
  if (cccl_cache_open(&options, &client, nullptr) != CCCL_CACHE_OK) return 5;
  std::string source = "//fake: output-size 2K\n";
  source.resize(std::strtoul(argv[2], nullptr, 10), '/');
  const std::string same = source;
  const cccl_cache_bytes arch = Bytes("-arch=sm_90");
  cccl_cache_nvrtc program = {};
  program.struct_size = sizeof(program);
  program.source = Bytes(source);
  program.options = &arch;
  program.option_count = 1;
  volatile size_t sink = 0;
  for (int round = 0; round < std::atoi(argv[3]); ++round) {
    // Renews the cached answer now, so that no measured call asks the daemon.
    Build(client, program);
    if (!Build(client, program)) {
      std::fprintf(stderr, "an answer that should have been kept was not\n");
      return 5;
    }
    Report("ours", [&] { sink = sink + (Build(client, program) ? 1 : 0); });
    Report("hashing", [&] {
      sink = sink + std::hash<std::string_view>()(source) +
             (std::memcmp(source.data(), same.data(), source.size()) == 0 ? 1 : 0);
    });
  }
  cccl_cache_close(client);
  return 0;
}

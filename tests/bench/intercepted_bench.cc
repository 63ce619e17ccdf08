// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_intercepted DAEMON_SOCKET LIBRARY ROUNDS
//
// Measures hits of one program in turn: by calls of NVRTC, which the stand-in for LIBRARY answers,
// and by the client. Run it with `cccl-cache-cli run`. Sides: calls, client.
#include <cccl_cache/client.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/raw_nvrtc.h"

namespace {

using Clock = std::chrono::steady_clock;

const std::string kSource = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] *= 2; }\n";
const std::vector<std::string> kOptions = {"-arch=sm_90"};

void Print(const char* side, Clock::time_point begin) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  std::printf("%s\t%.2f\n", side, took.count());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_intercepted DAEMON_SOCKET LIBRARY ROUNDS\n");
    return 2;
  }
  const auto nvrtc = cccl_cache::daemon::RawNvrtc::Load(argv[2]);
  auto client =
      cccl_cache::Client::Open({.socket = argv[1], .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (nvrtc == nullptr || !client) return 5;
  cccl_cache::NvrtcBuild build;
  build.source = kSource;
  build.name = "kernel.cu";
  build.options = kOptions;
  if (nvrtc->Compile(kSource, kOptions).empty() || !client->Build(build, {})) return 5;
  for (int round = 0; round < std::atoi(argv[3]); ++round) {
    auto begin = Clock::now();
    const std::string made = nvrtc->Compile(kSource, kOptions);
    Print("calls", begin);
    begin = Clock::now();
    const auto result = client->Build(build, {});
    if (!result || result->outcome() != cccl_cache::Outcome::kHit) return 5;
    const std::string kept(result->artifact(cccl_cache::Kind::kCubin));
    Print("client", begin);
    if (made.empty() || made != kept) return 5;
  }
}

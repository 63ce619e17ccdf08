// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_turns SOCKET SIZE
//
// Takes turns with another program. For each line "CALLS" on standard input, asks the daemon, which
// uses the fake toolchain, CALLS times for SIZE bytes through the C++ client. Then prints a line
// with the time of each call in microseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/bench/daemon_side.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_turns SOCKET SIZE\n");
    return 2;
  }
  const auto side = cccl_cache::daemon::OpenDaemonSide("ours", argv[1]);
  if (side == nullptr) return 5;
  const cccl_cache::daemon::Question question =
      cccl_cache::daemon::QuestionFor(std::strtoul(argv[2], nullptr, 10));
  int calls = 0;
  while (std::scanf("%d", &calls) == 1) {
    for (int i = 0; i < calls; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      if (!side->Ask(question)) return 5;
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      std::printf("%.2f ", took.count());
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_hits DAEMON_SOCKET ECHO_SOCKET REDIS_SOCKET SIZE ROUNDS CALLS
// bench_hits DAEMON_SOCKET BEFORE_SOCKET SIZE ROUNDS CALLS
//
// Asks all sides for SIZE bytes in turn, CALLS calls a turn. Two sides ask the daemon at
// DAEMON_SOCKET, which uses the fake toolchain: this project's client and gRPC's. The second form
// compares two daemons with this project's client: sides ours, before.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/daemon_side.h"
#include "tests/bench/grpc_side.h"
#include "tests/bench/redis_side.h"

namespace {

using cccl_cache::daemon::Question;
using cccl_cache::daemon::Side;
using Sides = std::vector<std::unique_ptr<Side>>;

bool Turn(Side& side, const Question& question, int calls, std::vector<double>& times) {
  for (int i = 0; i < calls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!side.Ask(question)) {
      std::fprintf(stderr, "%s: no answer of %zu bytes\n", side.name(), question.size);
      return false;
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    times.push_back(took.count());
  }
  return true;
}

bool Run(const Sides& sides, const Question& question, int rounds, int calls) {
  std::vector<double> warm_up;
  for (const auto& side : sides) {
    if (!Turn(*side, question, 20, warm_up)) return false;
  }
  std::vector<std::vector<double>> times(sides.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < sides.size(); ++i) {
      const size_t turn = (i + static_cast<size_t>(round)) % sides.size();
      if (!Turn(*sides[turn], question, calls, times[turn])) return false;
    }
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    for (const double time : times[i]) std::printf("%s\t%.2f\n", sides[i]->name(), time);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) {
    std::fprintf(stderr,
                 "usage: bench_hits DAEMON_SOCKET ECHO_SOCKET REDIS_SOCKET SIZE ROUNDS CALLS\n"
                 "       bench_hits DAEMON_SOCKET BEFORE_SOCKET SIZE ROUNDS CALLS\n");
    return 2;
  }
  Sides sides;
  sides.push_back(cccl_cache::daemon::OpenDaemonSide("ours", argv[1]));
  if (argc == 6) {
    sides.push_back(cccl_cache::daemon::OpenDaemonSide("before", argv[2]));
  } else {
    sides.push_back(cccl_cache::daemon::OpenGrpcSide("echo", argv[2]));
    sides.push_back(cccl_cache::daemon::OpenGrpcSide("ours by stock client", argv[1]));
    sides.push_back(cccl_cache::daemon::OpenRedisSide(argv[3]));
  }
  for (const auto& side : sides) {
    if (side == nullptr) return 5;
  }
  char** const numbers = argv + argc - 3;
  const Question question = cccl_cache::daemon::QuestionFor(std::strtoul(numbers[0], nullptr, 10));
  return Run(sides, question, std::atoi(numbers[1]), std::atoi(numbers[2])) ? 0 : 5;
}

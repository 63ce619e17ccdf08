// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_rates DAEMON_SOCKET ECHO_SOCKET ROUNDS CLIENTS CALLS SIZE...
//
// Measures the throughput of many processes that ask for hits at once. Takes ROUNDS turns of two
// sides. In a turn, CLIENTS processes make CALLS calls each, for the SIZEs one after the other.
// "ours" asks the daemon at DAEMON_SOCKET by this project's client. "echo" asks the server at
// ECHO_SOCKET by gRPC's client.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/daemon_side.h"
#include "tests/bench/forked_callers.h"
#include "tests/bench/grpc_side.h"

namespace {

using cccl_cache::daemon::Question;
using cccl_cache::daemon::Side;
using OpenSide = std::function<std::unique_ptr<Side>()>;

/// Each process opens its own side, because gRPC does not survive a fork.
bool Run(const char* name, const OpenSide& open, const std::vector<Question>& questions,
         int clients, int calls) {
  const double took = cccl_cache::daemon::RunForked(clients, [&](int client) {
    const std::unique_ptr<Side> side = open();
    for (int i = 0; side != nullptr && i < calls; ++i) {
      const auto next = static_cast<size_t>(client + i) % questions.size();
      if (!side->Ask(questions[next])) return false;
    }
    return side != nullptr;
  });
  if (took >= 0) std::printf("%s\t%.0f\n", name, took);
  return took >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: bench_rates DAEMON_SOCKET ECHO_SOCKET ROUNDS CLIENTS CALLS SIZE...\n");
    return 2;
  }
  const std::string daemon = argv[1];
  const std::string echo = argv[2];
  const int clients = std::atoi(argv[4]);
  const int calls = std::atoi(argv[5]);
  std::vector<Question> questions;
  for (int i = 6; i < argc; ++i) {
    questions.push_back(cccl_cache::daemon::QuestionFor(std::strtoul(argv[i], nullptr, 10)));
  }
  const OpenSide ours = [&daemon] { return cccl_cache::daemon::OpenDaemonSide("ours", daemon); };
  const OpenSide beside = [&echo] { return cccl_cache::daemon::OpenGrpcSide("echo", echo); };
  for (int round = 0; round < std::atoi(argv[3]); ++round) {
    if (!Run("ours", ours, questions, clients, calls)) return 5;
    if (!Run("echo", beside, questions, clients, calls)) return 5;
  }
}

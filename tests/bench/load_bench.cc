// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_load SOCKET fill KEYS SIZE
// bench_load SOCKET ask USERS CONNECTIONS RATE SECONDS KEYS SIZE
// bench_load SOCKET wait USERS CONNECTIONS BUILDS SOURCE
//
// Measures a daemon with the fake toolchain under the load of many users. fill: builds KEYS
// programs once. Their cubins have SIZE bytes. ask: asks for these programs RATE times a second in
// total. The times of the calls are random and do not depend on the answers (open loop). The
// programs follow a Zipf distribution, like those of real jobs. Prints lines
// "ours<TAB>microseconds": the time from the moment for which a call was planned until its bytes
// were there. wait: asks for BUILDS copies of one program on each connection. Prints a line
// "ours<TAB>microseconds": the time from the first answer to the last. There are USERS processes
// with CONNECTIONS connections each. As root, each process has a different uid.
#include <cccl_cache/batch.h>
#include <cccl_cache/client.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/bench/daemon_side.h"
#include "tests/bench/forked_callers.h"

namespace {

using cccl_cache::daemon::OpenDaemonSide;
using cccl_cache::daemon::Question;
using cccl_cache::daemon::Side;
using std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr uid_t kFirstUser = 40'000;
constexpr double kSkew = 0.99;

Question Program(size_t number, size_t size) {
  Question question = cccl_cache::daemon::QuestionFor(size);
  question.source = "// " + std::to_string(number) + "\n" + question.source;
  return question;
}

/// Random numbers below a bound. The k-th number is drawn 1/k^kSkew times as often as the first.
class Zipf {
 public:
  explicit Zipf(size_t bound) {
    double sum = 0;
    for (size_t k = 1; k <= bound; ++k) {
      sum += 1 / std::pow(static_cast<double>(k), kSkew);
      up_to_.push_back(sum);
    }
  }
  template <typename Random>
  size_t operator()(Random& random) {
    const double drawn = std::uniform_real_distribution<double>(0, up_to_.back())(random);
    const auto found = std::ranges::lower_bound(up_to_, drawn);
    return std::min<size_t>(found - up_to_.begin(), up_to_.size() - 1);
  }

 private:
  std::vector<double> up_to_;
};

/// Runs `task(connection)` on a thread for each connection, and returns whether all returned true.
template <typename Task>
bool InThreads(int threads, const Task& task) {
  std::vector<char> done(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { done[static_cast<size_t>(i)] = task(i) ? 1 : 0; });
  }
  for (std::thread& thread : running) thread.join();
  return std::ranges::all_of(done, [](char each) { return each != 0; });
}

void BecomeUser(int number) {
  if (getuid() == 0 && setuid(kFirstUser + static_cast<uid_t>(number)) != 0) _exit(1);
}

bool Fill(const std::string& socket, size_t keys, size_t size) {
  constexpr int kThreads = 8;
  return InThreads(kThreads, [&](int thread) {
    const auto side = OpenDaemonSide("ours", socket);
    for (auto key = static_cast<size_t>(thread); side != nullptr && key < keys; key += kThreads) {
      if (!side->Ask(Program(key, size))) return false;
    }
    return side != nullptr;
  });
}

struct Load {
  int users = 0;
  int connections = 0;  ///< of each user
  double rate = 0;      ///< of all connections together, in calls a second
  double seconds = 0;
  size_t keys = 0;
  size_t size = 0;
};

/// Runs one connection's part of the load. Writes the times to `times`. Returns their number, or -1
/// on failure.
int64_t Ask(Side& side, const Load& load, unsigned seed, std::span<double> times) {
  std::mt19937_64 random(seed);
  Zipf zipf(load.keys);
  const double each = load.rate / (load.users * load.connections);
  std::exponential_distribution<double> gap(each);
  const auto begin = steady_clock::now();
  double at = gap(random);
  size_t asked = 0;
  for (; at < load.seconds && asked < times.size(); at += gap(random)) {
    const auto due = begin + std::chrono::duration_cast<steady_clock::duration>(
                                 std::chrono::duration<double>(at));
    const Question question = Program(zipf(random), load.size);
    std::this_thread::sleep_until(due);
    if (!side.Ask(question)) return -1;
    times[asked++] = Microseconds(steady_clock::now() - due).count();
  }
  return static_cast<int64_t>(asked);
}

/// Memory that child processes share with this one.
template <typename T>
std::span<T> Shared(size_t count) {
  void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return {static_cast<T*>(memory), count};
}

bool AskAll(const std::string& socket, const Load& load) {
  const auto all = static_cast<size_t>(load.users * load.connections);
  // A connection gets more than four times its mean only with a negligible probability.
  const auto room =
      static_cast<size_t>(4 * load.rate * load.seconds / static_cast<double>(all)) + 64;
  const auto times = Shared<double>(all * room);
  const auto counts = Shared<int64_t>(all);
  const auto user = [&](int number) {
    BecomeUser(number);
    std::vector<std::unique_ptr<Side>> sides;
    for (int i = 0; i < load.connections; ++i) {
      sides.push_back(OpenDaemonSide("ours", socket));
      if (sides.back() == nullptr) return false;
    }
    return InThreads(load.connections, [&](int i) {
      const auto index = static_cast<size_t>(number * load.connections + i);
      counts[index] = Ask(*sides[static_cast<size_t>(i)], load, static_cast<unsigned>(index + 1),
                          times.subspan(index * room, room));
      return counts[index] >= 0;
    });
  };
  if (cccl_cache::daemon::RunForked(load.users, user) < 0) return false;
  for (size_t index = 0; index < all; ++index) {
    for (const double time : times.subspan(index * room, static_cast<size_t>(counts[index]))) {
      std::printf("ours\t%.2f\n", time);
    }
  }
  return true;
}

struct Waiters {
  int users = 0;
  int connections = 0;  ///< of each user
  int builds = 0;       ///< of each connection
  std::string source;
};

/// Runs one connection's builds. Sets `first` and `last` to the steady_clock times of the first and
/// the last answer.
bool Wait(const std::string& socket, const Waiters& waiters, int64_t& first, int64_t& last) {
  auto client = cccl_cache::Client::Open({.socket = socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client) return false;
  auto batch = cccl_cache::Batch::Open(*client);
  if (!batch) return false;
  cccl_cache::NvrtcBuild build;
  build.source = waiters.source;
  build.name = "kernel.cu";
  build.options = {"-arch=sm_90"};
  for (int tag = 0; tag < waiters.builds; ++tag) {
    if (!batch->Add(build, static_cast<uint64_t>(tag))) return false;
  }
  while (const auto finished = batch->Next()) {
    if (!finished->result) {
      std::fprintf(stderr, "daemon: %s\n", finished->result.error().message.c_str());
      return false;
    }
    last = steady_clock::now().time_since_epoch().count();
    if (first == 0) first = last;
  }
  return true;
}

bool WaitAll(const std::string& socket, const Waiters& waiters) {
  const auto all = static_cast<size_t>(waiters.users * waiters.connections);
  const auto first = Shared<int64_t>(all);
  const auto last = Shared<int64_t>(all);
  const auto user = [&](int number) {
    BecomeUser(number);
    return InThreads(waiters.connections, [&](int i) {
      const auto index = static_cast<size_t>(number * waiters.connections + i);
      return Wait(socket, waiters, first[index], last[index]);
    });
  };
  if (cccl_cache::daemon::RunForked(waiters.users, user) < 0) return false;
  const auto took = steady_clock::duration(std::ranges::max(last) - std::ranges::min(first));
  std::printf("ours\t%.0f\n", Microseconds(took).count());
  return true;
}

bool Run(std::span<char*> words) {
  const std::string socket = words[1];
  const std::string_view what = words[2];
  const auto number = [&](size_t i) { return std::strtoul(words[i], nullptr, 10); };
  const auto small = [&](size_t i) { return static_cast<int>(number(i)); };
  if (what == "fill" && words.size() == 5) return Fill(socket, number(3), number(4));
  if (what == "ask" && words.size() == 9) {
    return AskAll(socket, {small(3), small(4), std::atof(words[5]), std::atof(words[6]), number(7),
                           number(8)});
  }
  if (what == "wait" && words.size() == 7) {
    return WaitAll(socket, {small(3), small(4), small(5), words[6]});
  }
  std::fprintf(stderr,
               "usage: bench_load SOCKET fill KEYS SIZE\n"
               "       bench_load SOCKET ask USERS CONNECTIONS RATE SECONDS KEYS SIZE\n"
               "       bench_load SOCKET wait USERS CONNECTIONS BUILDS SOURCE\n");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return Run({argv, static_cast<size_t>(argc)}) ? 0 : 5;
}

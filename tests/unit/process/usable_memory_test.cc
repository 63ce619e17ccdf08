// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/usable_memory.h"

#include <catch2/catch.hpp>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::usable_memory_test {
namespace {

constexpr uint64_t kMachine = 1000ull << 10;

/// A directory with a machine's files about memory and control groups.
struct Machine {
  explicit Machine(std::string_view groups) {
    root.Write("proc/meminfo", "MemFree: 7 kB\nMemTotal:  1000 kB\nSwapTotal: 5 kB\n");
    root.Write("proc/self/cgroup", groups);
  }
  [[nodiscard]] uint64_t usable() const { return UsableMemory(root.path()); }
  void Write(const std::string& below, std::string_view text) const {
    root.Write("sys/fs/cgroup/" + below, text);
  }

  TemporaryDirectory root;
};

TEST_CASE("without a control group's limit the machine's memory is usable") {
  const Machine machine("0::/system.slice/a.service\n");
  CHECK(machine.usable() == kMachine);
  machine.Write("system.slice/a.service/memory.max", "max\n");
  machine.Write("system.slice/a.service/memory.high", "9000000\n");
  CHECK(machine.usable() == kMachine);
}

TEST_CASE("the lowest limit of a control group and its parents applies") {
  const Machine machine("0::/system.slice/a.service\n");
  machine.Write("system.slice/a.service/memory.max", "600000\n");
  CHECK(machine.usable() == 600'000);
  machine.Write("system.slice/a.service/memory.high", "500000\n");
  CHECK(machine.usable() == 500'000);
  machine.Write("system.slice/memory.max", "400000\n");
  CHECK(machine.usable() == 400'000);
}

TEST_CASE("a container's own limit is read at the root of its control groups") {
  const Machine machine("0::/\n");
  machine.Write("memory.max", "300000\n");
  CHECK(machine.usable() == 300'000);
}

TEST_CASE("the limit of the daemon's own service does not apply to its clients") {
  const Machine machine("0::/system.slice/a.service\n");
  machine.Write("system.slice/a.service/memory.max", "600000\n");
  CHECK(machine.usable() == 600'000);
  CHECK(MemoryWithClients(machine.root.path()) == kMachine);
  machine.Write("memory.max", "700000\n");
  CHECK(MemoryWithClients(machine.root.path()) == 700'000);
}

TEST_CASE("a memory limit of control groups version 1 applies") {
  const Machine machine("5:cpu:/other\n4:hugetlb,memory:/docker/a\n0::/\n");
  machine.Write("memory/docker/a/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.usable() == kMachine);
  machine.Write("memory/memory.limit_in_bytes", "200000\n");  // where a container sees its limit
  machine.Write("memory/other/memory.limit_in_bytes", "1\n");
  CHECK(machine.usable() == 200'000);
}

TEST_CASE("usable memory is 0 if unknown, and broken lines are skipped") {
  CHECK(UsableMemory("/nonexistent") == 0);
  CHECK(Machine("nonsense\n1:memory\n0::relative\n\n").usable() == kMachine);
  CHECK(UsableMemory() > 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::usable_memory_test

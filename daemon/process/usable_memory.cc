// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/usable_memory.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

/// Returns none if the machine's memory can't be read.
std::optional<uint64_t> MemoryOfMachine(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string name; file >> name;) {
    uint64_t kibibytes = 0;
    if (name == "MemTotal:" && file >> kibibytes) return kibibytes << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// Returns the number in a file; kNoLimit if there is no such file or it holds "max".
uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  return file >> bytes ? bytes : kNoLimit;
}

/// Returns the lowest limit of a group and of its parents. In a container only the container's own
/// groups are visible; the topmost one has the container's limit.
uint64_t LimitOfGroups(const std::string& mount, std::string group) {
  // memory.high counts as a limit, because above it the kernel slows processes down. The last name
  // is that of cgroup version 1.
  constexpr std::array kFiles = {"memory.max", "memory.high", "memory.limit_in_bytes"};
  uint64_t least = kNoLimit;
  while (true) {
    if (group.ends_with('/')) group.pop_back();
    for (const char* const file : kFiles) {
      least = std::min(least, LimitIn(mount + group + "/" + file));
    }
    if (group.empty()) return least;
    group.resize(group.rfind('/') + 1);
  }
}

/// Returns whether a comma-separated list of controllers includes the memory controller.
bool HasMemory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

/// Returns the group above a service of systemd; for another group, the group itself.
std::string WithoutService(const std::string& group) {
  return group.ends_with(".service") ? group.substr(0, group.rfind('/')) : group;
}

uint64_t LeastMemory(const std::string& root, bool with_service) {
  const std::optional<uint64_t> machine = MemoryOfMachine(root);
  if (!machine) return 0;
  uint64_t least = *machine;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // A line has the number of the hierarchy, its controllers, and the group.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (!with_service) group = WithoutService(group);
    if (controllers.empty()) least = std::min(least, LimitOfGroups(root + "/sys/fs/cgroup", group));
    if (HasMemory(controllers)) {
      least = std::min(least, LimitOfGroups(root + "/sys/fs/cgroup/memory", group));
    }
  }
  return least;
}

}  // namespace

uint64_t UsableMemory(const std::string& root) { return LeastMemory(root, true); }

uint64_t MemoryWithClients(const std::string& root) { return LeastMemory(root, false); }

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/administrators.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace cccl_cache::daemon {
namespace {

/// Returns the process that connected, which may be gone. Before Linux 6.5 it is found by its pid,
/// which may belong to another process by now.
FileDescriptor ProcessOf(int socket, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return FileDescriptor(fd);
  if (errno != ENOPROTOOPT) return {};
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

bool IsAlive(const FileDescriptor& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

/// Returns the pid as this process sees it, or 0 if it is unknown or the process has none here.
pid_t NumberOf(const FileDescriptor& process) {
  std::ifstream file(fmt::format("/proc/self/fdinfo/{}", process.get()));
  constexpr std::string_view kName = "Pid:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kName)) continue;
    pid_t pid = 0;
    std::istringstream(line.substr(kName.size())) >> pid;
    return std::max(pid, 0);
  }
  return 0;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns whether the map holds all ids, as that of the first user namespace does.
bool HoldsAll(const std::string& map) {
  std::istringstream words(map);
  uint64_t first = 1;
  uint64_t outside = 1;
  uint64_t count = 0;
  return words >> first >> outside >> count && first == 0 && outside == 0 && count == 0xffffffff;
}

bool IsInOwnUserNamespace(pid_t pid) {
  struct stat own;
  struct stat other;
  if (stat("/proc/self/ns/user", &own) != 0) return false;
  const std::string directory = fmt::format("/proc/{}", pid);
  if (stat((directory + "/ns/user").c_str(), &other) == 0) {
    return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
  }
  // A service user may not look at the namespaces of root's processes, but it may read their id
  // maps. The map of a container holds only a part of the ids.
  if (errno != EACCES || geteuid() == 0) return false;
  for (const char* map : {"/uid_map", "/gid_map"}) {
    if (!HoldsAll(TextOf(std::string("/proc/self") + map)) || !HoldsAll(TextOf(directory + map))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Administrators::Include(int socket, const Peer& peer) const {
  const bool member =
      group_ && (peer.gid == *group_ || std::ranges::binary_search(peer.groups, *group_));
  if (peer.uid != 0 && peer.uid != geteuid() && !member) return false;
  const FileDescriptor process = ProcessOf(socket, peer.pid);
  if (!process.valid()) return false;
  const pid_t pid = NumberOf(process);
  // The process is alive after the check, so its pid was not reused before.
  return pid != 0 && IsInOwnUserNamespace(pid) && IsAlive(process);
}

}  // namespace cccl_cache::daemon

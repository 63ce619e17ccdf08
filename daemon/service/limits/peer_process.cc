// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/peer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <tuple>
#include <utility>

// Linux 6.5; Debian 12's headers don't know it.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace cccl_cache::daemon {
namespace {

/// Returns the pid as this process's /proc shows it, or 0 if the process has none there or is gone.
/// /proc may show another pid namespace than this process's own, so the pid that the socket tells
/// is no name in it.
pid_t NumberOf(const FileDescriptor& process) {
  const std::string path = fmt::format("/proc/self/fdinfo/{}", process.get());
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> bytes;
  const ssize_t size = read(file.get(), bytes.data(), bytes.size());
  if (size <= 0) return 0;
  const std::string_view text(bytes.data(), static_cast<size_t>(size));
  constexpr std::string_view kName = "\nPid:\t";
  const size_t found = text.find(kName);
  if (found == std::string_view::npos) return 0;
  pid_t pid = 0;
  std::from_chars(text.data() + found + kName.size(), text.data() + text.size(), pid);
  return pid > 0 ? pid : 0;
}

/// Numbers of a file. While both are in use, equal numbers are the same file on the same mount.
using Place = std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>;

/// Follows a link in /proc. The file system that it leads to is not asked: it may be one in user
/// space that never answers.
std::optional<Place> PlaceOf(const std::string& link) {
  struct statx found {};
  if (statx(AT_FDCWD, link.c_str(), AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &found) != 0 ||
      (found.stx_mask & STATX_MNT_ID) == 0) {
    return std::nullopt;
  }
  return Place{found.stx_dev_major, found.stx_dev_minor, found.stx_ino, found.stx_mnt_id};
}

}  // namespace

std::optional<PeerProcess> PeerProcess::Of(FileDescriptor process) {
  if (!process.valid()) return std::nullopt;
  const pid_t pid = NumberOf(process);
  if (pid == 0) return std::nullopt;
  return PeerProcess(std::move(process), fmt::format("/proc/{}", pid));
}

std::optional<PeerProcess> PeerProcess::Of(int socket) {
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) != 0) return std::nullopt;
  return Of(FileDescriptor(fd));
}

std::optional<PeerProcess> PeerProcess::OfSocketOrPid(int socket, pid_t pid) {
  errno = 0;
  if (auto process = Of(socket)) return process;
  if (errno != ENOPROTOOPT) return std::nullopt;
  return Of(FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
}

bool PeerProcess::IsAlive() const {
  pollfd ended{process_.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

bool PeerProcess::SeesSameFiles() const {
  // The root is looked at only where the peer can have no mounts that this process does not have.
  for (const char* link : {"/ns/mnt", "/root"}) {
    const std::optional<Place> own = PlaceOf(std::string("/proc/self") + link);
    if (!own || own != PlaceOf(directory_ + link)) return false;
  }
  return IsAlive();
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/peer_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/files/whole_file.h"
#include "base/peer_pidfd.h"

namespace cccl_cache::daemon {
namespace {

/// Returns the pid of the process in the pid namespace that /proc shows. Returns 0 if the process
/// has ended or is not in that namespace. The pid from the socket can't be used for /proc, because
/// /proc may show another pid namespace than this process's own.
pid_t NumberOf(const FileDescriptor& process) {
  const std::string text =
      ReadFileAt(fmt::format("/proc/self/fdinfo/{}", process.get())).value_or("");
  constexpr std::string_view kName = "\nPid:\t";
  const size_t found = text.find(kName);
  if (found == std::string_view::npos) return 0;
  pid_t pid = 0;
  std::from_chars(text.data() + found + kName.size(), text.data() + text.size(), pid);
  return pid > 0 ? pid : 0;
}

}  // namespace

std::optional<PeerProcess> PeerProcess::Of(FileDescriptor process) {
  if (!process.valid()) return std::nullopt;
  const pid_t pid = NumberOf(process);
  if (pid == 0) return std::nullopt;
  return PeerProcess(std::move(process), fmt::format("/proc/{}", pid));
}

std::optional<PeerProcess> PeerProcess::Of(int socket) { return Of(PeerPidfd(socket)); }

std::optional<PeerProcess> PeerProcess::OfSocketOrPid(int socket, pid_t pid) {
  errno = 0;
  if (auto process = Of(socket)) return process;
  if (errno != ENOPROTOOPT) return std::nullopt;
  return Of(FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
}

bool PeerProcess::IsAlive() const { return cccl_cache::IsAlive(process_); }

}  // namespace cccl_cache::daemon

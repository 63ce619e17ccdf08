// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/break_out.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/compile/protocol/packet.h"
#include "daemon/core/plan/roots.h"
#include "daemon/worker/sandbox/isolation.h"

namespace fake_toolchain {
namespace {

long ReadFile(const std::string& path) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY);
  char byte;
  return fd < 0 ? fd : read(static_cast<int>(fd), &byte, 1);
}

long WriteFile(const std::string& path) {
  return syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT, 0600);
}

long TruncateFile(const std::string& path) {
  return syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_TRUNC);
}

long RemoveFile(const std::string& path) {
  return syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), 0);
}

/// AT_EMPTY_PATH tests the sandbox, which allows this flag for fstat.
long StatFile(const std::string& path) {
  struct stat status;
  const long told = syscall(SYS_newfstatat, AT_FDCWD, path.c_str(), &status, 0);
  return told == 0 ? told : syscall(SYS_newfstatat, AT_FDCWD, path.c_str(), &status, AT_EMPTY_PATH);
}

long LookAtFile(const std::string& path) {
  return syscall(SYS_openat, AT_FDCWD, path.c_str(), O_PATH);
}

long AccessFile(const std::string& path) {
  return syscall(SYS_faccessat, AT_FDCWD, path.c_str(), F_OK);
}

/// RLIMIT_DATA does not count such memory.
long MakeFileInMemory(const std::string&) { return syscall(SYS_memfd_create, "more", 0); }

long ListDirectory(const std::string& path) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  char entries[4096];
  return fd < 0 ? fd : syscall(SYS_getdents64, fd, entries, sizeof(entries));
}

long ConnectUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const long fd = syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
  return fd < 0 ? fd : syscall(SYS_connect, fd, &address, sizeof(address));
}

long ConnectTcp(const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const long fd = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
  return fd < 0 ? fd : syscall(SYS_connect, fd, &address, sizeof(address));
}

/// Uses signal 0 for groups and for all processes (-1), because a broken sandbox must not harm the
/// machine.
long Kill(const std::string& pid) {
  const int target = std::atoi(pid.c_str());
  return syscall(SYS_kill, target, target > 0 ? SIGKILL : 0);
}

long KillThread(const std::string& pid) {
  return syscall(SYS_tgkill, std::atoi(pid.c_str()), std::atoi(pid.c_str()), SIGKILL);
}

long Trace(const std::string& pid) {
  return syscall(SYS_ptrace, PTRACE_ATTACH, std::atoi(pid.c_str()), nullptr, nullptr);
}

long ReadMemory(const std::string& pid) {
  char byte;
  iovec local{&byte, 1};
  iovec remote{const_cast<char*>(pid.data()),
               1};  // any address: a permitted read gives EFAULT or a byte
  return syscall(SYS_process_vm_readv, std::atoi(pid.c_str()), &local, 1, &remote, 1, 0);
}

long Fork(const std::string&) {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(0);
  return child;
}

/// Makes at most 64 processes, so that a broken sandbox fails the test and not the machine.
long ForkBomb(const std::string& argument) {
  long child = 0;
  for (int i = 0; i < 64; ++i) child = std::max(child, Fork(argument));
  return child == 0 ? -1 : child;
}

long Execute(const std::string& path) {
  const char* arguments[] = {path.c_str(), nullptr};
  return syscall(SYS_execve, path.c_str(), arguments, nullptr);
}

long MapCode(const std::string&) {
  return syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                 0);
}

/// RLIMIT_DATA does not count such memory.
long MapShared(const std::string&) {
  return syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                 0);
}

/// Read-only pages use page tables, which RLIMIT_DATA does not count.
long MapReadable(const std::string&) {
  constexpr size_t kBytes = 1ull << 40;
  return syscall(SYS_mmap, nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
}

/// Asks the daemon for a file without the worker's code; "1 a.h" is a.h in root 1. The result is
/// "done" if the daemon sent the file. The argument is no path, because an output with a path
/// counts as showing paths.
long AskDaemon(const std::string& argument) {
  using namespace cccl_cache::daemon;
  std::string name = std::string(kCanonicalPrefix) + argument;
  std::replace(name.begin(), name.end(), ' ', '/');
  static char answer[64 * 1024];
  const long sent = syscall(SYS_sendto, kFilesFd, name.data(), name.size(), 0, nullptr, 0);
  if (sent < 0) return sent;
  const long size = syscall(SYS_recvfrom, kFilesFd, answer, sizeof(answer), 0, nullptr, nullptr);
  if (size < 0) return size;
  const bool is_file = static_cast<FileKind>(answer[0]) == FileKind::kFile;
  if (size > static_cast<long>(kFileAnswerHeaderBytes) && is_file) return size;
  errno = ENOENT;
  return -1;
}

/// Makes a system call that the sandbox refuses whatever its arguments.
long CallByName(const std::string& name) {
  constexpr struct {
    const char* name;
    long number;
  } kCalls[] = {{"mount", SYS_mount},        {"bpf", SYS_bpf},
                {"keyctl", SYS_keyctl},      {"io_uring_setup", SYS_io_uring_setup},
                {"unshare", SYS_unshare},    {"userfaultfd", SYS_userfaultfd},
                {"setsid", SYS_setsid},      {"perf_event_open", SYS_perf_event_open},
                {"openat2", SYS_openat2},    {"clone3", SYS_clone3},
                {"symlinkat", SYS_symlinkat}};
  for (const auto& call : kCalls) {
    if (name == call.name) return syscall(call.number, 0, 0, 0, 0, 0, 0);
  }
  errno = EINVAL;
  return -1;
}

constexpr struct {
  const char* name;
  long (*run)(const std::string& argument);
} kAttacks[] = {{"read-file", ReadFile},
                {"write-file", WriteFile},
                {"truncate-file", TruncateFile},
                {"remove-file", RemoveFile},
                {"list-directory", ListDirectory},
                {"stat-file", StatFile},
                {"look-at-file", LookAtFile},
                {"access-file", AccessFile},
                {"make-file-in-memory", MakeFileInMemory},
                {"connect-unix", ConnectUnix},
                {"connect-tcp", ConnectTcp},
                {"kill", Kill},
                {"kill-thread", KillThread},
                {"trace", Trace},
                {"read-memory", ReadMemory},
                {"fork", Fork},
                {"fork-bomb", ForkBomb},
                {"execute", Execute},
                {"map-code", MapCode},
                {"map-shared", MapShared},
                {"map-readable", MapReadable},
                {"ask-daemon", AskDaemon},
                {"system-call", CallByName}};

}  // namespace

bool BreakOut(const std::string& command, const std::string& argument, std::string& notes) {
  for (const auto& attack : kAttacks) {
    if (command != attack.name) continue;
    const long result = attack.run(argument);
    notes +=
        command + " " + argument + ": " + (result >= 0 ? "done" : strerrorname_np(errno)) + "\n";
    return true;
  }
  return false;
}

}  // namespace fake_toolchain

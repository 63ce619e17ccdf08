// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/isolation.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {
namespace {

/// RLIMIT_NPROC, which stops a compiler that starts threads without end. The limit counts all
/// threads of the user. The kernel does not apply it to root.
constexpr rlim_t kMaxThreads = 4096;
/// RLIMIT_NOFILE. It suffices for nested headers, because the compiler closes a header before it
/// opens the headers that are included in it.
constexpr rlim_t kMaxOpenFiles = 64;
/// RLIMIT_FSIZE for scratch files, in bytes. A job has eight scratch files in memory, which
/// RLIMIT_DATA does not count.
constexpr rlim_t kMaxFileBytes = 64ull << 20;
/// RLIMIT_FSIZE for a job with a precompiled header, which has two scratch files. The compiler
/// writes a sparse file as large as the memory that holds all it has parsed.
constexpr rlim_t kMaxPchFileBytes = kPchHeapBytes + (16ull << 20);
constexpr int kNicer = 5;
/// RLIMIT_STACK. It is larger than the usual 8 MiB, so that each program that compiles without the
/// daemon also compiles here. It is finite, so that an endless recursion ends soon.
constexpr rlim_t kStackBytes = 64ull << 20;

Error IsolationError(const char* what) {
  return Error{ErrorCode::kUnavailable, std::string(what) + ": " + strerror(errno)};
}

Status Limit(__rlimit_resource resource, rlim_t value, const char* what) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0) return IsolationError(what);
  if (limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max) limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(resource, &limit) != 0) return IsolationError(what);
  return Ok{};
}

Status ApplyLimits(const IsolationLimits& limits) {
  struct {
    __rlimit_resource resource;
    rlim_t value;
    const char* what;
  } const all[] = {
      {RLIMIT_DATA, limits.data_bytes, "limiting memory"},
      {RLIMIT_AS, limits.address_bytes, "limiting addresses"},
      {RLIMIT_STACK, kStackBytes, "limiting the stack"},
      {RLIMIT_CORE, 0, "limiting core dumps"},
      {RLIMIT_FSIZE, limits.has_pch ? kMaxPchFileBytes : kMaxFileBytes, "limiting file sizes"},
      {RLIMIT_NPROC, kMaxThreads, "limiting threads"},
      {RLIMIT_NOFILE, kMaxOpenFiles, "limiting open files"},
  };
  for (const auto& limit : all) {
    if (Status applied = Limit(limit.resource, limit.value, limit.what); !applied) return applied;
  }
  return Ok{};
}

}  // namespace

Status Isolate(const IsolationLimits& limits) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return IsolationError("PR_SET_PDEATHSIG");
  if (getppid() != limits.zygote) {
    return Error{ErrorCode::kUnavailable, "the zygote died before its worker started"};
  }
  // Workers have a lower priority than the daemon, which answers cache hits during compiles. nice()
  // fails if the process has niceness 19 already, so the result is ignored.
  [[maybe_unused]] const int niceness = nice(kNicer);
  if (setsid() < 0) return IsolationError("setsid");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return IsolationError("PR_SET_NO_NEW_PRIVS");
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return IsolationError("PR_SET_DUMPABLE");
  return ApplyLimits(limits);
}

Status KeepOnly(const KeptDescriptors& kept) {
  const struct {
    int from;
    int to;
  } moves[] = {{kept.null_device, STDIN_FILENO},
               {kept.null_device, STDOUT_FILENO},
               {kept.null_device, STDERR_FILENO},
               {kept.job, kJobFd},
               {kept.reply, kReplyFd},
               {kept.files, kFilesFd},
               {kept.pch, kPchFd}};
  // First copies all descriptors to numbers above the target numbers. Otherwise dup2 could close a
  // descriptor that is still to be moved.
  constexpr int kFirstFree = kPchFd + 1;
  int copies[std::size(moves)];
  for (size_t i = 0; i < std::size(moves); ++i) {
    copies[i] = moves[i].from < 0 ? -1 : fcntl(moves[i].from, F_DUPFD, kFirstFree);
    if (copies[i] < 0 && moves[i].from >= 0) return IsolationError("moving descriptors");
  }
  for (size_t i = 0; i < std::size(moves); ++i) {
    if (copies[i] < 0) {
      close(moves[i].to);
    } else if (dup2(copies[i], moves[i].to) < 0) {
      return IsolationError("moving descriptors");
    }
  }
  if (syscall(SYS_close_range, kFirstFree, ~0u, 0) != 0) return IsolationError("close_range");
  return Ok{};
}

}  // namespace cccl_cache::daemon

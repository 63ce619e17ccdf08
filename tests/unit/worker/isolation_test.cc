// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/isolation.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "daemon/compile/protocol/frame.h"
#include "daemon/worker/sandbox/sandbox.h"
#include "tests/support/temporary_directory.h"

namespace isolation_test {

using namespace cccl_cache::daemon;

namespace {

/// Larger than the memory of a sanitizer, which counts against both limits.
constexpr uint64_t kDataBytes = 1ull << 46;
constexpr uint64_t kAddressBytes = 1ull << 47;

struct Limits {
  rlimit data, addresses, stack, core, file_bytes, threads, open_files;
};

/// A process's report about itself.
struct Surroundings {
  bool isolated = false;
  Limits limits{};
  int dumpable = -1;
  int no_new_privileges = -1;
  int death_signal = -1;
  bool leads_session = false;
};

/// Returns the report of a child process that ran the action.
template <typename Told>
Told InChild(const std::function<void(Told&)>& action) {
  void* shared =
      mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  Told& told = *new (shared) Told;
  const pid_t child = fork();
  if (child == 0) {
    action(told);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  const Told answer = told;
  munmap(shared, sizeof(Told));
  return answer;
}

void LookAround(Surroundings& seen) {
  Limits& limits = seen.limits;
  getrlimit(RLIMIT_DATA, &limits.data);
  getrlimit(RLIMIT_AS, &limits.addresses);
  getrlimit(RLIMIT_STACK, &limits.stack);
  getrlimit(RLIMIT_CORE, &limits.core);
  getrlimit(RLIMIT_FSIZE, &limits.file_bytes);
  getrlimit(RLIMIT_NPROC, &limits.threads);
  getrlimit(RLIMIT_NOFILE, &limits.open_files);
  seen.dumpable = prctl(PR_GET_DUMPABLE);
  seen.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  prctl(PR_GET_PDEATHSIG, &seen.death_signal);
  seen.leads_session = getsid(0) == getpid();
}

Surroundings Isolated(
    IsolationLimits limits, const std::function<void()>& before = [] {}) {
  limits.zygote = getpid();
  return InChild<Surroundings>([&](Surroundings& seen) {
    before();
    seen.isolated = Isolate(limits).ok();
    LookAround(seen);
  });
}

/// Returns whether the limit has this value and can't be raised.
bool Is(const rlimit& limit, rlim_t value) {
  return limit.rlim_cur == value && limit.rlim_max == value;
}

struct CapabilitySets {
  __user_cap_data_struct halves[2];
};

CapabilitySets OwnCapabilities() {
  CapabilitySets sets{};
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  if (syscall(SYS_capget, &header, sets.halves) != 0) _exit(1);
  return sets;
}

/// Returns whether the descriptor refers to this file.
bool Same(int fd, const struct stat& file) {
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_ino == file.st_ino && status.st_dev == file.st_dev;
}

}  // namespace

TEST_CASE("an isolated process has each of its limits, and can't raise it") {
  const Surroundings seen = Isolated({.data_bytes = kDataBytes, .address_bytes = kAddressBytes});
  REQUIRE(seen.isolated);
  CHECK(Is(seen.limits.data, kDataBytes));
  CHECK(Is(seen.limits.addresses, kAddressBytes));
  CHECK(Is(seen.limits.stack, 64u << 20));
  CHECK(Is(seen.limits.core, 0));
  CHECK(Is(seen.limits.file_bytes, 64u << 20));
  CHECK(Is(seen.limits.threads, 4096));
  CHECK(Is(seen.limits.open_files, 64));
}

TEST_CASE("a worker with a precompiled header may write files up to the header's maximum size") {
  const Surroundings seen =
      Isolated({.data_bytes = kDataBytes, .address_bytes = kAddressBytes, .has_pch = true});
  REQUIRE(seen.isolated);
  CHECK(Is(seen.limits.file_bytes, kPchHeapBytes + (16u << 20)));
}

TEST_CASE("isolation raises no limit") {
  const Surroundings seen =
      Isolated({.data_bytes = kDataBytes, .address_bytes = kAddressBytes}, [] {
        const rlimit few{16, 32};
        setrlimit(RLIMIT_NOFILE, &few);
      });
  REQUIRE(seen.isolated);
  CHECK(Is(seen.limits.open_files, 32));
}

TEST_CASE("an isolated process can't be traced, gains no rights, and dies with its zygote") {
  const Surroundings seen = Isolated({.data_bytes = kDataBytes, .address_bytes = kAddressBytes});
  REQUIRE(seen.isolated);
  CHECK(seen.dumpable == 0);
  CHECK(seen.no_new_privileges == 1);
  CHECK(seen.death_signal == SIGKILL);
  CHECK(seen.leads_session);
}

TEST_CASE("isolation is an error if the zygote is not the process's parent") {
  struct Told {
    bool isolated;
    ErrorCode why_not;
  };
  const Told told = InChild<Told>([](Told& answer) {
    const Status isolated =
        Isolate({.zygote = getpid(), .data_bytes = kDataBytes, .address_bytes = kAddressBytes});
    answer.isolated = isolated.ok();
    if (!isolated) answer.why_not = isolated.error().code;
  });
  CHECK_FALSE(told.isolated);
  CHECK(told.why_not == ErrorCode::kUnavailable);
}

TEST_CASE("an isolated process with limited reach has no capability, even as root") {
  struct Told {
    bool confined;
    CapabilitySets before;
    CapabilitySets after;
  };
  const TemporaryDirectory readable;
  const Result<Sandbox> sandbox = Sandbox::Prepare({readable.path()});
  REQUIRE(sandbox.ok());
  const pid_t zygote = getpid();
  const Told told = InChild<Told>([&](Told& answer) {
    // In its own user namespace the process has all capabilities.
    if (geteuid() != 0) unshare(CLONE_NEWUSER);
    answer.before = OwnCapabilities();
    answer.confined =
        Isolate({.zygote = zygote, .data_bytes = kDataBytes, .address_bytes = kAddressBytes})
            .ok() &&
        sandbox->LimitReach().ok();
    answer.after = OwnCapabilities();
  });
  INFO("user namespaces must be allowed, or this be run as root");
  REQUIRE(told.before.halves[0].effective != 0);
  REQUIRE(told.confined);
  for (const __user_cap_data_struct& half : told.after.halves) {
    CHECK(half.effective == 0);
    CHECK(half.permitted == 0);
    CHECK(half.inheritable == 0);
  }
}

TEST_CASE("kept descriptors get their numbers, even if swapped, and all others are closed") {
  struct Told {
    bool in_place;
    int others;
  };
  const TemporaryDirectory directory;
  struct stat files[4];
  for (int i = 0; i < 4; ++i) {
    REQUIRE(stat(directory.Write(std::to_string(i), "").c_str(), &files[i]) == 0);
  }
  const Told told = InChild<Told>([&](Told& answer) {
    int opened[4];
    for (int i = 0; i < 4; ++i) {
      const int fd = open((directory / std::to_string(i)).c_str(), O_RDONLY);
      opened[i] = fcntl(fd, F_DUPFD, 40);
    }
    for (int i = 0; i < 4; ++i) dup2(opened[i], kPchFd - i);
    const int null_device = fcntl(open("/dev/null", O_RDWR), F_DUPFD, 40);
    const Status kept = KeepOnly({.job = kPchFd,
                                  .reply = kFilesFd,
                                  .files = kReplyFd,
                                  .pch = kJobFd,
                                  .null_device = null_device});
    answer.in_place = kept.ok() && Same(kJobFd, files[0]) && Same(kReplyFd, files[1]) &&
                      Same(kFilesFd, files[2]) && Same(kPchFd, files[3]);
    for (int fd = kPchFd + 1; fd < 1024; ++fd) answer.others += fcntl(fd, F_GETFD) >= 0;
  });
  CHECK(told.in_place);
  CHECK(told.others == 0);
}

TEST_CASE("unused descriptor numbers are closed, and printed output is dropped") {
  struct Told {
    bool kept;
    bool closed;
    bool silent;
  };
  const TemporaryDirectory directory;
  const std::string file = directory.Write("file", "");
  struct stat null_device {};
  REQUIRE(stat("/dev/null", &null_device) == 0);
  const Told told = InChild<Told>([&](Told& answer) {
    const int job = fcntl(open(file.c_str(), O_RDONLY), F_DUPFD, 40);
    for (const int fd : {kFilesFd, kPchFd}) dup2(job, fd);
    const int nowhere = fcntl(open("/dev/null", O_RDWR), F_DUPFD, 40);
    answer.kept = KeepOnly({.job = job, .reply = job, .null_device = nowhere}).ok();
    answer.closed = fcntl(kFilesFd, F_GETFD) < 0 && fcntl(kPchFd, F_GETFD) < 0;
    answer.silent = Same(STDIN_FILENO, null_device) && Same(STDOUT_FILENO, null_device) &&
                    Same(STDERR_FILENO, null_device);
  });
  CHECK(told.kept);
  CHECK(told.closed);
  CHECK(told.silent);
}

}  // namespace isolation_test

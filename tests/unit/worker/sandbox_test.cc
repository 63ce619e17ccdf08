// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/temporary_directory.h"

namespace sandbox_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

constexpr int kDone = 100;  ///< differs from every errno that is expected here
constexpr int kNoSandbox = 101;

/// Returns a call's result as an exit status.
int JobOutcome(long answer) { return answer >= 0 ? kDone : errno; }

/// Returns the exit status of a child that runs `action`; minus the signal that ended it.
int InChild(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // the test program would report it as its own crash
    _exit(action());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Like InChild, in a sandbox.
int Sandboxed(const Sandbox& sandbox, const std::function<int()>& action) {
  return InChild([&] {
    const bool entered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && sandbox.LimitReach().ok() &&
                         sandbox.LimitCalls().ok();
    return entered ? action() : kNoSandbox;
  });
}

int OpenByCall(const std::string& path, int flags) {
  return JobOutcome(syscall(SYS_openat, AT_FDCWD, path.c_str(), flags, 0600));
}

int StatByCall(const std::string& path, int flags) {
  struct stat status;
  return JobOutcome(syscall(SYS_newfstatat, AT_FDCWD, path.c_str(), &status, flags));
}

/// Makes these calls fail for good, as on a kernel without them.
bool Lose(std::initializer_list<int> calls, int error = ENOSYS) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  bool made = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter != nullptr;
  for (const int call : calls) {
    made = made && seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), call, 0) == 0;
  }
  return made && seccomp_load(filter) == 0;
}

long Map(int protection, int flags, int fd = -1) {
  return syscall(SYS_mmap, 0, 4096, protection, flags, fd, 0);
}

struct Scene {
  TemporaryDirectory directory;
  std::string readable = directory.path() + "/toolchain";
  std::string header = directory.Write("toolchain/sub/cuda.h", "header");
  std::string secret = directory.Write("other/secret", "secret");

  [[nodiscard]] Sandbox Prepared() const {
    Result<Sandbox> sandbox = Sandbox::Prepare({readable, directory.path() + "/absent"});
    REQUIRE(sandbox.ok());
    return *std::move(sandbox);
  }
};

}  // namespace

TEST_CASE("a sandboxed process reads beneath the readable directories and nowhere else") {
  const Scene scene;
  const Sandbox sandbox = scene.Prepared();
  INFO(sandbox.Description());
  CHECK(Sandboxed(sandbox, [&] { return OpenByCall(scene.header, O_RDONLY); }) == kDone);
  CHECK(Sandboxed(sandbox, [&] { return OpenByCall(scene.readable, O_DIRECTORY); }) == kDone);
  for (const std::string& path :
       {scene.secret, scene.readable + "/../other/secret", std::string("/etc/passwd"),
        std::string("/proc/self/maps"), scene.directory.path()}) {
    INFO(path);
    CHECK(Sandboxed(sandbox, [&] { return OpenByCall(path, O_RDONLY); }) == EACCES);
  }
}

TEST_CASE("a sandboxed process learns nothing about a file by its name") {
  const Scene scene;
  const Sandbox sandbox = scene.Prepared();
  for (const std::string& path : {scene.secret, scene.header, std::string("/etc/passwd")}) {
    INFO(path);
    for (const int flags : {0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH}) {
      CHECK(Sandboxed(sandbox, [&] { return StatByCall(path, flags); }) == EACCES);
    }
#ifdef SYS_stat  // not on aarch64
    for (const int call : {SYS_stat, SYS_lstat}) {
      CHECK(Sandboxed(sandbox, [&] {
              struct stat status;
              return JobOutcome(syscall(call, path.c_str(), &status));
            }) == EACCES);
    }
#endif
    CHECK(Sandboxed(sandbox, [&] {
            return JobOutcome(syscall(SYS_faccessat, AT_FDCWD, path.c_str(), F_OK));
          }) == EACCES);
    CHECK(Sandboxed(sandbox, [&] { return OpenByCall(path, O_PATH); }) == EACCES);
  }
  CHECK(Sandboxed(sandbox, [&] {
          struct stat status;
          const long file = syscall(SYS_openat, AT_FDCWD, scene.header.c_str(), O_RDONLY);
          return JobOutcome(syscall(SYS_fstat, file, &status));
        }) == kDone);
}

TEST_CASE("a sandboxed process writes nowhere") {
  const Scene scene;
  const Sandbox sandbox = scene.Prepared();
  for (const int flags :
       {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT, O_RDONLY | O_APPEND}) {
    INFO(flags);
    CHECK(Sandboxed(sandbox, [&] { return OpenByCall(scene.header, flags); }) == EACCES);
  }
  CHECK(Sandboxed(sandbox, [&] { return OpenByCall(scene.readable, O_RDWR | O_TMPFILE); }) ==
        EACCES);
  CHECK(Sandboxed(sandbox, [&] {
          return JobOutcome(syscall(SYS_unlinkat, AT_FDCWD, scene.header.c_str(), 0));
        }) == ENOSYS);
  CHECK(std::filesystem::file_size(scene.header) == 6);
}

TEST_CASE("targets of symlinks in the readable directories can be read too") {
  const Scene scene;
  const std::string linked = scene.directory.Write("store/linked.h", "linked");
  const std::string beside = scene.directory.Write("single/beside.h", "beside");
  const std::string target = scene.directory.Write("single/target.h", "target");
  std::filesystem::create_directory_symlink(scene.directory.path() + "/store",
                                            scene.readable + "/store");
  std::filesystem::create_symlink(target, scene.readable + "/sub/target.h");
  std::filesystem::create_symlink("/proc/self/status", scene.readable + "/status.h");
  const Sandbox sandbox = scene.Prepared();
  for (const std::string& path : {linked, target, scene.readable + "/store/linked.h"}) {
    INFO(path);
    CHECK(Sandboxed(sandbox, [&] { return OpenByCall(path, O_RDONLY); }) == kDone);
  }
  for (const std::string& path : {beside, scene.secret, scene.readable + "/status.h"}) {
    INFO(path);
    CHECK(Sandboxed(sandbox, [&] { return OpenByCall(path, O_RDONLY); }) == EACCES);
  }
}

void* SayDone(void* answer) {
  *static_cast<int*>(answer) = kDone;
  return nullptr;
}

TEST_CASE("system calls that compilers need work in the sandbox") {
  const Sandbox sandbox = Scene().Prepared();
  SECTION("threads") {
    CHECK(Sandboxed(sandbox, [] {
            // Not std::thread, because UBSan checks its virtual table by calls that are forbidden
            // here.
            int answer = 0;
            pthread_t thread{};
            const int failed = pthread_create(&thread, nullptr, SayDone, &answer);
            return failed != 0 ? failed : pthread_join(thread, nullptr) + answer;
          }) == kDone);
  }
  SECTION("files in memory that were made before, and no others") {
    const FileDescriptor made(memfd_create("made", MFD_CLOEXEC));
    CHECK(Sandboxed(sandbox, [&] { return JobOutcome(write(made.get(), "text", 4)); }) == kDone);
    for (const unsigned flags : {unsigned{MFD_CLOEXEC}, MFD_CLOEXEC | MFD_HUGETLB}) {
      CHECK(Sandboxed(sandbox, [&] {
              return JobOutcome(syscall(SYS_memfd_create, "more", flags));
            }) == EMFILE);
    }
  }
  SECTION("questions and answers through an inherited socket") {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const FileDescriptor ours(ends[0]);
    const FileDescriptor theirs(ends[1]);
    CHECK(Sandboxed(sandbox, [&] {
            char byte = 'q';
            if (send(ends[0], &byte, 1, 0) != 1) return errno;
            return JobOutcome(recv(ends[1], &byte, 1, 0));
          }) == kDone);
  }
  SECTION("aborting") {
    CHECK(Sandboxed(sandbox, []() -> int { abort(); }) == -SIGABRT);
  }
}

TEST_CASE("a system call that only an attacker needs ends the process") {
  const Sandbox sandbox = Scene().Prepared();
  const long parent = getpid();
  const std::pair<const char*, std::function<long()>> attempts[] = {
      {"socket", [] { return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0); }},
      {"fork", [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
      {"vfork by clone", [] { return syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0); }},
      {"kill", [&] { return syscall(SYS_kill, parent, 0); }},
      {"kill everybody", [] { return syscall(SYS_kill, -1, 0); }},
      {"tgkill", [&] { return syscall(SYS_tgkill, parent, parent, 0); }},
      {"ptrace", [&] { return syscall(SYS_ptrace, 16, parent, 0, 0); }},
      {"execve", [] { return syscall(SYS_execve, "/bin/sh", nullptr, nullptr); }},
      {"io_uring", [] { return syscall(SYS_io_uring_setup, 1, nullptr); }},
      {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0); }},
  };
  for (const auto& [name, attempt] : attempts) {
    INFO(name);
    CHECK(Sandboxed(sandbox, [&attempt = attempt] { return JobOutcome(attempt()); }) == -SIGSYS);
  }
}

TEST_CASE("system calls that a filter can't check, or that are unused, give ENOSYS") {
  const Sandbox sandbox = Scene().Prepared();
  CHECK(Sandboxed(sandbox, [] { return JobOutcome(syscall(SYS_clone3, nullptr, 0)); }) == ENOSYS);
  CHECK(Sandboxed(sandbox, [] {
          return JobOutcome(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", nullptr, 0));
        }) == ENOSYS);
  CHECK(Sandboxed(sandbox, [] {
          msghdr message{};  // descriptors could be attached
          return JobOutcome(sendmsg(STDIN_FILENO, &message, 0));
        }) == ENOSYS);
}

TEST_CASE("no memory can be executable or escape RLIMIT_DATA") {
  const Sandbox sandbox = Scene().Prepared();
  constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS;
  CHECK(Sandboxed(sandbox, [] { return JobOutcome(Map(PROT_READ | PROT_WRITE, kOwn)); }) == kDone);
  CHECK(Sandboxed(sandbox, [] {
          return JobOutcome(mprotect(reinterpret_cast<void*>(Map(PROT_NONE, kOwn)), 4096,
                                     PROT_READ | PROT_WRITE));
        }) == kDone);
  const std::pair<const char*, std::function<long()>> attempts[] = {
      {"code", [] { return Map(PROT_READ | PROT_EXEC, kOwn); }},
      {"shared", [] { return Map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS); }},
      {"a stack", [] { return Map(PROT_READ | PROT_WRITE, kOwn | MAP_GROWSDOWN); }},
      {"huge pages", [] { return Map(PROT_READ | PROT_WRITE, kOwn | MAP_HUGETLB); }},
      {"a file",
       [file = memfd_create("made", MFD_CLOEXEC)] { return Map(PROT_READ, MAP_PRIVATE, file); }},
      {"made code",
       [] {
         return static_cast<long>(
             mprotect(reinterpret_cast<void*>(Map(PROT_READ | PROT_WRITE, kOwn)), 4096, PROT_EXEC));
       }},
      {"no longer counted",
       [] {
         return static_cast<long>(
             mprotect(reinterpret_cast<void*>(Map(PROT_READ | PROT_WRITE, kOwn)), 4096, PROT_READ));
       }},
  };
  for (const auto& [name, attempt] : attempts) {
    INFO(name);
    CHECK(Sandboxed(sandbox, [&attempt = attempt] { return JobOutcome(attempt()); }) == ENOSYS);
  }
}

TEST_CASE("without Landlock nothing is opened by name, even in the readable directories") {
  const Scene scene;
  for (const int error : {ENOSYS, EOPNOTSUPP, EPERM}) {
    INFO(error);
    const int outcome = InChild([&] {
      if (!Lose({SCMP_SYS(landlock_create_ruleset)}, error)) return kNoSandbox;
      const Result<Sandbox> sandbox = Sandbox::Prepare({scene.readable});
      if (!sandbox || sandbox->kind() != SandboxKind::kOpensNothing) return 1;
      if (!sandbox->LimitReach().ok()) return 2;
      if (!sandbox->LimitCalls().ok()) return 3;
      struct stat status;
      if (syscall(SYS_fstat, STDIN_FILENO, &status) != 0) return 4;
      for (const std::string& path : {scene.header, scene.secret}) {
        if (OpenByCall(path, O_RDONLY) != EACCES || OpenByCall(path, O_PATH) != EACCES) return 5;
        for (const int flags : {0, AT_EMPTY_PATH}) {
          if (StatByCall(path, flags) != EACCES) return 6;
        }
      }
      return kDone;
    });
    CHECK(outcome == kDone);
  }
}

TEST_CASE("a kernel that has Landlock and refuses it is an error, not a weaker sandbox") {
  const Scene scene;
  CHECK(InChild([&] {
          if (!Lose({SCMP_SYS(landlock_create_ruleset)}, ENOMEM)) return kNoSandbox;
          return Sandbox::Prepare({scene.readable}) ? 1 : kDone;
        }) == kDone);
  CHECK(InChild([&] {
          if (!Lose({SCMP_SYS(landlock_add_rule)}, ENOSYS)) return kNoSandbox;
          return Sandbox::Prepare({scene.readable}) ? 1 : kDone;
        }) == kDone);
  CHECK(InChild([&] {
          if (!Lose({SCMP_SYS(landlock_restrict_self)}, EPERM)) return kNoSandbox;
          const Result<Sandbox> sandbox = Sandbox::Prepare({scene.readable});
          return !sandbox || sandbox->LimitReach().ok() ? 1 : kDone;
        }) == kDone);
}

TEST_CASE("without seccomp the sandbox is reported as none") {
  const Scene scene;
  CHECK(InChild([&] {
          if (!Lose({SCMP_SYS(seccomp)})) return kNoSandbox;
          const Result<Sandbox> sandbox = Sandbox::Prepare({scene.readable});
          if (!sandbox || sandbox->kind() != SandboxKind::kNone) return 1;
          return sandbox->Description().starts_with("none") ? kDone : 2;
        }) == kDone);
}

}  // namespace sandbox_test

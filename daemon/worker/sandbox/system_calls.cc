// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

/// Stands for the process's own pid in the filter until Enter() inserts it. No process has this
/// pid: pids are at most 2^22.
constexpr uint32_t kOwnPid = 0x5eccb1d5;

constexpr uint32_t kAbsent = SCMP_ACT_ERRNO(ENOSYS);

/// Allowed calls for memory, time, threads and open descriptors. None of them takes a path.
constexpr int kAllowed[] = {
    // descriptors
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
    SCMP_SYS(pwrite64), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(fstat),
    SCMP_SYS(ftruncate), SCMP_SYS(dup), SCMP_SYS(getdents64), SCMP_SYS(poll), SCMP_SYS(ppoll),
    // open sockets: no calls that make sockets or send descriptors
    SCMP_SYS(recvfrom), SCMP_SYS(sendto),
    // memory
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    // time and identity
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(getpid), SCMP_SYS(gettid),
    SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(getrusage), SCMP_SYS(getrlimit), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    SCMP_SYS(getrandom),
    // threads and signals
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
    SCMP_SYS(exit_group)};

/// Allowed calls that take a path. The worker reads links in /proc to get the paths of its open
/// files. It gets sizes and times by fstat of files that it may open (openat, below).
constexpr int kAllowedOfPaths[] = {SCMP_SYS(readlink), SCMP_SYS(readlinkat)};

/// Calls that fail with EACCES. A filter can't read a path, so newfstatat fails even with an empty
/// path, which stands for an open file.
constexpr int kLooking[] = {SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(access), SCMP_SYS(faccessat),
                            SCMP_SYS(newfstatat)};
constexpr int kOpening[] = {SCMP_SYS(open), SCMP_SYS(openat)};

/// Calls that no compiler makes, only an attacker's code. They kill the process.
constexpr int kDeadly[] = {
    // communication by socket
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen),
    SCMP_SYS(accept), SCMP_SYS(accept4),
    // access to other processes
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(kcmp), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    // new processes
    SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(setsid),
    SCMP_SYS(setpgid),
    // change of user, rights or namespaces
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid),
    SCMP_SYS(setresgid), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(setgroups),
    SCMP_SYS(capset), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(personality), SCMP_SYS(keyctl),
    SCMP_SYS(add_key), SCMP_SYS(request_key),
    // mounts, file handles and device files
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(open_tree),
    SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(mknod), SCMP_SYS(mknodat), SCMP_SYS(quotactl),
    // the kernel itself
    SCMP_SYS(bpf), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
    SCMP_SYS(userfaultfd), SCMP_SYS(perf_event_open), SCMP_SYS(init_module), SCMP_SYS(finit_module),
    SCMP_SYS(delete_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(reboot),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(syslog), SCMP_SYS(modify_ldt),
    SCMP_SYS(ioperm), SCMP_SYS(iopl), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(sethostname), SCMP_SYS(setdomainname)};

constexpr int kDescriptorCommands[] = {F_GETFD, F_SETFD,         F_GETFL,     F_SETFL,
                                       F_DUPFD, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS};

/// The flags of clone() that pthread_create sets. A filter can't read the flags of clone3, so
/// clone3 fails with ENOSYS, and the C library calls clone instead.
constexpr uint64_t kThread =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
constexpr uint64_t kThreadOrNot = kThread | CLONE_VFORK | CLONE_PTRACE | CLONE_PARENT |
                                  CLONE_PIDFD | CLONE_UNTRACED | CLONE_IO | CLONE_NEWNS |
                                  CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                  CLONE_NEWPID | CLONE_NEWNET;

/// Flags of open(2) that no reader needs. O_WRONLY and O_RDWR are separate bits. O_PATH is
/// included, because Landlock does not restrict it.
constexpr uint64_t kNotForReading[] = {
    O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE & ~O_DIRECTORY, O_PATH};

struct FreeContext {
  void operator()(void* context) const { seccomp_release(context); }
};

/// Collects the rules of a filter. After an error of libseccomp the other calls have no effect, and
/// Built() returns the error.
class Rules {
 public:
  Rules() : context_(seccomp_init(kAbsent)) {
    if (context_ == nullptr) error_ = -ENOMEM;
    Set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    Set(SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a binary tree, which is faster than a list
  }

  void Each(std::span<const int> calls, uint32_t action) {
    for (const int call : calls) Add(call, action, {});
  }
  void Add(int call, uint32_t action, std::initializer_list<scmp_arg_cmp> arguments) {
    if (error_ != 0) return;
    Note(seccomp_rule_add_array(context_.get(), action, call,
                                static_cast<unsigned>(arguments.size()), arguments.begin()));
  }
  void Allow(int call, scmp_arg_cmp argument) { Add(call, SCMP_ACT_ALLOW, {argument}); }

  /// Returns the program for the kernel. libseccomp can only write it to a descriptor, so it is
  /// written to a memory file and read from there.
  [[nodiscard]] Result<std::vector<sock_filter>> Built() {
    const FileDescriptor file(memfd_create("filter", MFD_CLOEXEC));
    if (!file.valid()) Note(-errno);
    if (error_ == 0) Note(seccomp_export_bpf(context_.get(), file.get()));
    const off_t size = error_ == 0 ? lseek(file.get(), 0, SEEK_END) : -1;
    std::vector<sock_filter> program(size < 0 ? 0
                                              : static_cast<size_t>(size) / sizeof(sock_filter));
    if (size > 0 && pread(file.get(), program.data(), static_cast<size_t>(size), 0) == size) {
      return program;
    }
    return Error{ErrorCode::kUnavailable, std::string("seccomp: making the filter: ") +
                                              strerror(error_ == 0 ? EIO : -error_)};
  }

 private:
  void Set(scmp_filter_attr attribute, uint32_t value) {
    if (error_ == 0) Note(seccomp_attr_set(context_.get(), attribute, value));
  }
  void Note(int result) {
    if (error_ == 0 && result < 0) error_ = result;
  }

  std::unique_ptr<void, FreeContext> context_;
  int error_ = 0;
};

/// Allows calls that get memory, with two exceptions: executable memory, and memory that
/// RLIMIT_DATA does not count. The latter is shared memory, mapped files, growing stacks, and pages
/// that become read-only after they were written.
void AddMemory(Rules& rules) {
  constexpr uint64_t kKind = MAP_TYPE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_HUGETLB;
  rules.Add(SCMP_SYS(mmap), SCMP_ACT_ALLOW,
            {SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_GROWSDOWN | PROT_GROWSUP, 0),
             SCMP_A3_64(SCMP_CMP_MASKED_EQ, kKind, MAP_PRIVATE | MAP_ANONYMOUS)});
  rules.Allow(SCMP_SYS(mprotect), SCMP_A2_64(SCMP_CMP_EQ, PROT_READ | PROT_WRITE));
  // No limit counts the bytes of all memory files, so the job gets only files that were made
  // before.
  rules.Add(SCMP_SYS(memfd_create), SCMP_ACT_ERRNO(EMFILE), {});
}

void AddChecked(Rules& rules) {
  rules.Allow(SCMP_SYS(clone), SCMP_A0_64(SCMP_CMP_MASKED_EQ, kThreadOrNot, kThread));
  rules.Add(SCMP_SYS(clone), SCMP_ACT_KILL_PROCESS,
            {SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
  for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill)}) {
    rules.Allow(call, SCMP_A0_32(SCMP_CMP_EQ, kOwnPid));
    rules.Add(call, SCMP_ACT_KILL_PROCESS, {SCMP_A0_32(SCMP_CMP_NE, kOwnPid)});
  }
  for (const int command : kDescriptorCommands) {
    rules.Allow(SCMP_SYS(fcntl), SCMP_A1_32(SCMP_CMP_EQ, static_cast<uint32_t>(command)));
  }
  rules.Allow(SCMP_SYS(ioctl), SCMP_A1_32(SCMP_CMP_EQ, TCGETS));  // needed by isatty
  rules.Allow(SCMP_SYS(prctl), SCMP_A0_32(SCMP_CMP_EQ, PR_SET_NAME));
  // The process may raise its stack limit up to the hard limit. It can only read the other limits.
  rules.Add(SCMP_SYS(prlimit64), SCMP_ACT_ALLOW,
            {SCMP_A0_32(SCMP_CMP_EQ, 0), SCMP_A1_32(SCMP_CMP_EQ, RLIMIT_STACK)});
  rules.Add(SCMP_SYS(prlimit64), SCMP_ACT_ALLOW,
            {SCMP_A0_32(SCMP_CMP_EQ, 0), SCMP_A2_64(SCMP_CMP_EQ, 0)});
}

/// Allows `call` only with flags for reading. `flags` is the index of the call's argument with the
/// flags.
void AddReadOnlyOpen(Rules& rules, int call, unsigned flags) {
  const auto masked = [&](uint64_t mask, uint64_t value) {
    return scmp_arg_cmp{.arg = flags, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
  };
  uint64_t all = 0;
  for (const uint64_t bit : kNotForReading) {
    all |= bit;
    rules.Add(call, SCMP_ACT_ERRNO(EACCES), {masked(bit, bit)});
  }
  rules.Allow(call, masked(all, 0));
}

void AddPaths(Rules& rules, SystemCallFilter::Paths paths) {
  rules.Each(kLooking, SCMP_ACT_ERRNO(EACCES));
  if (paths == SystemCallFilter::Paths::kNone) return rules.Each(kOpening, SCMP_ACT_ERRNO(EACCES));
  rules.Each(kAllowedOfPaths, SCMP_ACT_ALLOW);
  AddReadOnlyOpen(rules, SCMP_SYS(open), 1);
  AddReadOnlyOpen(rules, SCMP_SYS(openat), 2);
}

Status EnterProgram(std::vector<sock_filter> program) {
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  // SPEC_ALLOW: without this flag, kernels before 5.16 slow down a process with a filter, to
  // protect its secrets from speculative execution. A worker has no secrets.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0) {
    return Ok{};
  }
  return Error{ErrorCode::kUnavailable, std::string("seccomp: ") + strerror(errno)};
}

}  // namespace

bool SystemCallFilter::Available() {
  const uint32_t kill = SECCOMP_RET_KILL_PROCESS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &kill) == 0;
}

Result<SystemCallFilter> SystemCallFilter::Make(Paths paths) {
  Rules rules;
  rules.Each(kAllowed, SCMP_ACT_ALLOW);
  rules.Each(kDeadly, SCMP_ACT_KILL_PROCESS);
  AddMemory(rules);
  AddChecked(rules);
  AddPaths(rules, paths);
  Result<std::vector<sock_filter>> program = rules.Built();
  if (!program) return program.error();
  return SystemCallFilter(*std::move(program));
}

Status SystemCallFilter::Enter() const {
  std::vector<sock_filter> program = program_;
  for (sock_filter& instruction : program) {
    if (BPF_CLASS(instruction.code) == BPF_JMP && instruction.k == kOwnPid) {
      instruction.k = static_cast<uint32_t>(getpid());
    }
  }
  return EnterProgram(std::move(program));
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/owner_process.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>

namespace owner_process_test {

using cccl_cache::OwnerProcess;

namespace {

constexpr int kNoNamespaces = 77;

/// Runs `body` in a child that is made as by fork(), with these flags of clone(). Returns the
/// result of `body`.
int InChild(unsigned long flags, const std::function<int()>& body) {
  const long child = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(body());
  int status = 0;
  if (child < 0 || waitpid(static_cast<pid_t>(child), &status, 0) != child) return kNoNamespaces;
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("objects belong to the process that made them, not to its children") {
  const OwnerProcess first;
  CHECK(first.IsThis());
  CHECK(OwnerProcess().IsThis());
  const int wrong = InChild(0, [&] {
    const OwnerProcess second;
    const int inner = InChild(0, [&] { return first.IsThis() || second.IsThis() ? 1 : 0; });
    return first.IsThis() || !second.IsThis() ? 2 : inner;
  });
  CHECK(wrong == 0);
  CHECK(first.IsThis());
}

TEST_CASE("a child with its parent's pid owns none of the parent's objects") {
  const unsigned long namespaces = CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
  const int wrong = InChild(namespaces, [&] {
    const OwnerProcess first;
    const pid_t number = getpid();
    return InChild(CLONE_NEWPID, [&] { return getpid() != number ? 1 : first.IsThis() ? 2 : 0; });
  });
  if (wrong == kNoNamespaces) return;  // this user may not make namespaces here
  CHECK(wrong == 0);
}

TEST_CASE("a child that shares its parent's memory owns the parent's objects") {
  const OwnerProcess first;
  volatile bool owned = false;
  const pid_t child = vfork();
  if (child == 0) {
    owned = first.IsThis();
    _exit(0);
  }
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(owned);
}

}  // namespace owner_process_test

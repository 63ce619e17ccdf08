// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// without_landlock [--nor-seccomp] PROGRAM [ARGUMENT...]: runs a program as on a kernel without
// Landlock and, with --nor-seccomp, without seccomp too.
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

int main(int count, char** arguments) {
  const bool nor_seccomp = count > 1 && std::strcmp(arguments[1], "--nor-seccomp") == 0;
  char** const program = arguments + (nor_seccomp ? 2 : 1);
  if (*program == nullptr) return 64;
  std::vector<int> calls = {SCMP_SYS(landlock_create_ruleset), SCMP_SYS(landlock_add_rule),
                            SCMP_SYS(landlock_restrict_self)};
  if (nor_seccomp) calls.push_back(SCMP_SYS(seccomp));
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  bool made = filter != nullptr;
  for (const int call : calls) {
    made = made && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) == 0;
  }
  if (!made || seccomp_load(filter) != 0) {
    std::perror("without_landlock: seccomp");
    return 1;
  }
  seccomp_release(filter);
  execv(program[0], program);
  std::perror(program[0]);
  return 1;
}

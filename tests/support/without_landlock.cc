// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// without_landlock PROGRAM [ARGUMENT...]: runs a program as on a kernel that has no Landlock.
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

int main(int count, char** arguments) {
  if (count < 2) return 64;
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  bool made = filter != nullptr;
  for (const int call : {SCMP_SYS(landlock_create_ruleset), SCMP_SYS(landlock_add_rule),
                         SCMP_SYS(landlock_restrict_self)}) {
    made = made && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) == 0;
  }
  if (!made || seccomp_load(filter) != 0) {
    std::perror("without_landlock: seccomp");
    return 1;
  }
  seccomp_release(filter);
  execv(arguments[1], arguments + 1);
  std::perror(arguments[1]);
  return 1;
}

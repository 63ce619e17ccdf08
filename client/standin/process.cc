// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace cccl_cache::standin {
namespace {

/// Exit status of a killed tool: this plus the signal, as in shells.
constexpr int kSignalled = 128;

}  // namespace

void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    const rlimit none = {0, 0};  // no second core file: the tool has written one
    setrlimit(RLIMIT_CORE, &none);
    const int number = WTERMSIG(status);
    signal(number, SIG_DFL);
    sigset_t unblocked;
    sigemptyset(&unblocked);
    sigaddset(&unblocked, number);
    sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
    raise(number);
    _exit(kSignalled + number);  // reached by process 1 of a PID namespace, which ignores the
                                 // signal
  }
  _exit(WEXITSTATUS(status));
}

bool StandardDescriptorsOpen() {
  return fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0 &&
         fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

std::string RuntimeFacts() {
  const char* runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime == nullptr || *runtime != '/') return "";
  return std::string(runtime) + "/cccl-cache";
}

UserCache FactsOfThisUser() {
  UserCache facts(RuntimeFacts(), 1);
  return facts.Keeps() ? facts : UserCache::Of("facts");
}

}  // namespace cccl_cache::standin

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "daemon/worker/zygote.h"

namespace {

constexpr int kControlFd = 3;
constexpr int kUsageError = 64;

/// A compile touches some 200 MB for the first time. With huge pages that takes 3,500 page faults
/// instead of 48,000. With a top_pad in addition it takes 5,400.
constexpr const char* kTunables = "GLIBC_TUNABLES";
constexpr const char* kTunablesValue = "glibc.malloc.hugetlb=1";

bool IsControlSocket(int fd) {
  int type = 0;
  socklen_t length = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

/// Restarts the process with the tunables, which the C library reads before main. Without them all
/// works, only slower.
void TuneAllocator(char** arguments) {
  if (getenv(kTunables) != nullptr || setenv(kTunables, kTunablesValue, 1) != 0) return;
  execv("/proc/self/exe", arguments);
}

}  // namespace

int main(int, char** arguments) {
  if (!IsControlSocket(kControlFd)) {
    fputs("cccl-cached-worker is started by cccl-cached, not by hand\n", stderr);
    return kUsageError;
  }
  TuneAllocator(arguments);
  cccl_cache::daemon::Result<cccl_cache::daemon::Zygote> zygote =
      cccl_cache::daemon::Zygote::Start(cccl_cache::FileDescriptor(kControlFd));
  if (!zygote) return 1;  // the daemon has the reason
  const cccl_cache::daemon::Status ended = zygote->Run();
  if (!ended) fprintf(stderr, "cccl-cached-worker: %s\n", ended.error().message.c_str());
  return ended ? 0 : 1;
}

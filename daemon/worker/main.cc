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

/// Makes malloc use huge pages. A compile touches some 200 MB of new memory, which causes 48,000
/// page faults with normal pages and 3,500 with huge pages. (With huge pages and a top_pad it is
/// 5,400.)
constexpr const char* kTunables = "GLIBC_TUNABLES";
constexpr const char* kTunablesValue = "glibc.malloc.hugetlb=1";

bool IsControlSocket(int fd) {
  int type = 0;
  socklen_t length = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

/// Sets the tunables and executes this program again, because the C library reads them before main.
/// If that fails, compiles are only slower.
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
  if (!zygote) return 1;  // Start has sent the reason to the daemon
  const cccl_cache::daemon::Status ended = zygote->Run();
  if (!ended) fprintf(stderr, "cccl-cached-worker: %s\n", ended.error().message.c_str());
  return ended ? 0 : 1;
}

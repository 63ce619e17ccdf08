// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <cstdio>
#include <utility>

#include "daemon/worker/zygote.h"

namespace {

constexpr int kControlFd = 3;
constexpr int kUsageError = 64;

bool IsControlSocket(int fd) {
  int type = 0;
  socklen_t length = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

int main() {
  if (!IsControlSocket(kControlFd)) {
    fputs("cccl-cached-worker is started by cccl-cached, not by hand\n", stderr);
    return kUsageError;
  }
  cccl_cached::Result<cccl_cached::Zygote> zygote =
      cccl_cached::Zygote::Start(cccl_cached::FileDescriptor(kControlFd));
  if (!zygote) return 1;  // the daemon was told why
  const cccl_cached::Status ended = zygote->Run();
  if (!ended) fprintf(stderr, "cccl-cached-worker: %s\n", ended.error().message.c_str());
  return ended ? 0 : 1;
}

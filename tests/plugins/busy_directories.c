// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A file system as NFS is at times: no directory can be removed. For LD_PRELOAD.
#include <errno.h>

int rmdir(const char* path) {
  (void)path;
  errno = EBUSY;
  return -1;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace cccl_cache {

void OccupyStandardDescriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // open() returns this number, because it is the lowest free one. The access is the opposite of
    // the stream's, so that reads and writes still fail. A root directory without /dev is opened
    // itself.
    const int access = number == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", access | O_CLOEXEC) < 0) open("/", O_PATH | O_CLOEXEC);
  }
}

}  // namespace cccl_cache

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
    // open() returns this number, because it is the lowest free one. It is opened for the opposite
    // access, so that reading stdin and writing stdout or stderr still fail. If there is no /dev in
    // the root directory, / is opened instead, for no access at all.
    const int access = number == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", access | O_CLOEXEC) < 0) open("/", O_PATH | O_CLOEXEC);
  }
}

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Prints the path of the worker that belongs to this executable. Tests copy the executable into an
// installation.
#include <cstdio>

#include "daemon/process/worker_path.h"

int main() {
  const auto found = cccl_cache::daemon::FindWorker();
  std::puts(found.ok() ? found->c_str() : found.error().message.c_str());
  return found.ok() ? 0 : 1;
}

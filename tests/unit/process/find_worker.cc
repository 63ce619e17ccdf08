// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Prints the worker that belongs to this executable, for tests that copy it into an installation.
#include <cstdio>

#include "daemon/process/worker_path.h"

int main() {
  const auto found = cccl_cache::daemon::FindWorker();
  std::puts(found.ok() ? found->c_str() : found.error().message.c_str());
  return found.ok() ? 0 : 1;
}

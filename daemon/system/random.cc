// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/random.h"

#include <sys/random.h>

#include <cstdint>

namespace cccl_cache::daemon {

// The results of getrandom() are not checked, because it does not fail here. Requests of up to 256
// bytes are never cut short, and the kernel's generator is initialized at boot.

Digest RandomDigest() {
  Digest digest;
  [[maybe_unused]] const ssize_t size = getrandom(digest.bytes.data(), digest.bytes.size(), 0);
  return digest;
}

std::chrono::milliseconds Jittered(std::chrono::milliseconds pause) {
  uint16_t random = 0;
  [[maybe_unused]] const ssize_t size = getrandom(&random, sizeof(random), 0);
  return pause / 2 + pause * random / (2 * 0xffff);
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace fake_toolchain {

/// Sleeps while the word has this value; may wake early. A null timeout waits for ever.
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, timeout, nullptr, 0);
}

inline void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace fake_toolchain

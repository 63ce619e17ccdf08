// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// Symbols that Debian's archives need and a C library of 2.31 or older lacks.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// glibc 2.32: whether the process has a single thread, by which the C++ runtime saves atomic instructions.
char __libc_single_threaded = 0;

// glibc 2.36
void arc4random_buf(void* to, size_t size) {
  for (size_t filled = 0; filled < size;) {
    const ssize_t got = getrandom((char*)to + filled, size - filled, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got > 0) filled += (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof(number));
  return number;
}

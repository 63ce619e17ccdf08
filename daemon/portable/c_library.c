// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// What Debian's archives take from a C library that is younger than 2.31.
#include <stdint.h>
#include <sys/random.h>

// glibc 2.32: whether the process has a single thread, by which the C++ runtime saves atomic instructions.
char __libc_single_threaded = 0;

// glibc 2.36
uint32_t arc4random(void) {
  uint32_t number;
  while (getrandom(&number, sizeof(number), 0) != sizeof(number)) continue;
  return number;
}

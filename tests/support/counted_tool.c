/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A tool whose runs are counted: adds a line to $COUNTED, uses $ALLOCATE MiB of memory, waits at
 * the gate $GATE, does as $ENDS says ("fail", "signal"), or becomes $REAL. A copy with more bytes
 * at its end is another tool. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments) {
  (void)count;
  const int counted = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND, 0666);
  dprintf(counted, "%d\n", (int)getpid());
  close(counted);
  const char* allocate = getenv("ALLOCATE");
  if (allocate != NULL) {
    const size_t bytes = (size_t)atoi(allocate) << 20;
    volatile char* const memory = malloc(bytes);
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  }
  const char* gate = getenv("GATE");
  if (gate != NULL) {
    char byte;
    const int opened = open(gate, O_RDONLY);
    while (read(opened, &byte, 1) > 0) {
    }
    close(opened);
  }
  const char* ends = getenv("ENDS");
  if (ends != NULL && strcmp(ends, "fail") == 0) {
    fprintf(stderr, "it fails\n");
    return 3;
  }
  if (ends != NULL) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise(SIGSEGV);
  }
  execv(getenv("REAL"), arguments);
  return 126;
}

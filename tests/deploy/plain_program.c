/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0
 * A program without CUDA. It becomes itself once more by execvp(), prints its effective user and the
 * cache's libraries in its memory, writes to both outputs, and ends with status 7. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  char line[4096];
  FILE* maps;
  if (count == 1) {
    char* again[] = {words[0], "again", NULL};
    execvp(words[0], again);
    return 1;
  }
  printf("effective user %d\n", (int)geteuid());
  maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    const char* name = strstr(line, "libcccl_cache_");
    /* The first segment of each library. */
    if (name != NULL && strstr(line, " 00000000 ") != NULL) printf("mapped: %s", name);
  }
  fprintf(stderr, "to standard error\n");
  return 7;
}

/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0
 * start_tool WAY NAME WORD...: starts a program in one of the ways of C, waits for it, and ends with its
 * exit status, or with 100 plus errno if it can't be started. NAME may be a pointer that is "bad", or
 * lead to a text that is "unending"; the first WORD may say "bad words", "unending words" or "bad
 * variables". */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static char** variables;
static void* const kBad = (void*)16;

/* Sixteen bytes before memory that is not mapped: first these, none of them the end of a text or of
 * a list. */
static void* unending(const void* first, size_t size) {
  char* page = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(page + 4096, 4096);
  return memcpy(memset(page + 4096 - 16, 'x', 16), first, size);
}

/* The tests give five words. */
static void become(const char* way, const char* name, char** w) {
  if (strcmp(way, "execve") == 0) execve(name, w, variables);
  if (strcmp(way, "execv") == 0) execv(name, w);
  if (strcmp(way, "execvp") == 0) execvp(name, w);
  if (strcmp(way, "execvpe") == 0) execvpe(name, w, variables);
  if (strcmp(way, "execl") == 0) execl(name, w[0], w[1], w[2], w[3], w[4], NULL);
  if (strcmp(way, "execlp") == 0) execlp(name, w[0], w[1], w[2], w[3], w[4], NULL);
  if (strcmp(way, "no words") == 0) execve(name, (char*[]){NULL}, variables);
  if (strcmp(way, "execl without words") == 0) execl(name, NULL);
  if (strcmp(way, "null") == 0) execve(name, NULL, variables);
  if (strcmp(way, "execle") == 0) execle(name, w[0], w[1], w[2], w[3], w[4], NULL, variables);
  _exit(100 + errno);
}

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  const char* way = argv[1];
  const char* name = argv[2];
  char** words = argv + 2;
  variables = environ;
  if (strcmp(name, "bad") == 0) name = kBad;
  if (strcmp(argv[2], "unending") == 0) name = unending("/", 1);
  if (strcmp(argv[3], "bad words") == 0) words = kBad;
  if (strcmp(argv[3], "unending words") == 0) words = unending(words, sizeof(*words));
  if (strcmp(argv[3], "bad variables") == 0) variables = kBad;
  pid_t child = -1;
  int error = 0;
  if (strcmp(way, "posix_spawn") == 0) {
    error = posix_spawn(&child, name, NULL, NULL, words, variables);
  } else if (strcmp(way, "posix_spawnp") == 0) {
    error = posix_spawnp(&child, name, NULL, NULL, words, variables);
  } else {
    child = strcmp(way, "execve") == 0 ? vfork() : fork();
    if (child == 0) become(way, name, words);
  }
  if (error != 0) return 100 + error;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

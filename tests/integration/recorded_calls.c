/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Calls each function that libcccl_cache_record.so records, by the name in the first argument, with the path in the
 * second one. The working directory has a file "there", a directory "folder" and a link "link" to "there". */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

static char* words[] = {"true", NULL};
static sem_t loads;

/* Loads and unloads two libraries while the process ends, whose names differ by a 2 at the end. The C library does not
 * unload one that is there when the end begins. */
static void* load(void* path) {
  char other[4096];
  strcat(strcpy(other, path), "2");
  for (int i = 0; i < 10000; ++i) {
    void* library = dlopen(i % 2 == 0 ? path : other, RTLD_NOW);
    if (i == 10) sem_post(&loads);
    if (library != NULL) dlclose(library);
  }
  return NULL;
}

static int start_to_load(const char* path) {
  static char copy[4096];
  pthread_t thread;
  sem_init(&loads, 0, 0);
  return pthread_create(&thread, NULL, load, strcpy(copy, path)) || sem_wait(&loads);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const char* name = arguments[1];
  const char* path = arguments[2];
  char copy[4096], answer[4096];
  struct stat status;
  struct statx more;
  struct dirent** names;
  pid_t child;
  strcpy(copy, path);
#define CALL(function, call) \
  if (strcmp(name, #function) == 0) { (void)!(call); return 0; }
  CALL(open, open(path, O_RDONLY) >= 0)
  CALL(open64, open64(path, O_RDONLY) >= 0)
  CALL(openat, openat(AT_FDCWD, path, O_RDONLY) >= 0)
  CALL(openat64, openat64(AT_FDCWD, path, O_RDONLY) >= 0)
  CALL(fopen, fopen(path, "r"))
  CALL(fopen64, fopen64(path, "r"))
  CALL(freopen, freopen(path, "r", stdin))
  CALL(opendir, opendir(path))
  CALL(fdopendir, fdopendir(open(path, O_RDONLY)))
  CALL(ftw, ftw("missing", NULL, 1))
  CALL(mkdirat, mkdirat(AT_FDCWD, path, 0777))
  CALL(scandir, scandir(path, &names, NULL, NULL))
  CALL(stat, stat(path, &status))
  CALL(lstat, lstat(path, &status))
  CALL(fstatat, fstatat(AT_FDCWD, path, &status, 0))
  CALL(statx, statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &more))
  CALL(access, access(path, R_OK))
  CALL(eaccess, eaccess(path, R_OK))
  CALL(faccessat, faccessat(AT_FDCWD, path, R_OK, 0))
  CALL(readlink, readlink(path, answer, sizeof(answer)))
  CALL(realpath, realpath(path, answer))
  CALL(canonicalize_file_name, canonicalize_file_name(path))
  CALL(write, open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666))
  CALL(creat, creat(path, 0666))
  CALL(fopen_write, fopen(path, "w"))
  CALL(fopen_append, fopen(path, "a"))
  CALL(update, open(path, O_RDWR))
  CALL(mkstemp, mkstemp(strcat(copy, "XXXXXX")))
  CALL(mkdtemp, mkdtemp(strcat(copy, "XXXXXX")))
  CALL(mkdir, mkdir(path, 0777))
  CALL(chmod, chmod(path, 0600))
  CALL(truncate, truncate(path, 0))
  CALL(utime, utime(path, NULL))
  CALL(utimes, utimes(path, NULL))
  CALL(unlink, unlink(path))
  CALL(remove, remove(path))
  CALL(rmdir, rmdir(path))
  CALL(rename, rename(path, "renamed"))
  CALL(symlink, symlink("target", path))
  CALL(link, link("there", path))
  CALL(chdir, chdir(path))
  CALL(execv, execv(path, words))
  CALL(execvp, execvp(path, words))
  CALL(execl, execl(path, "true", (char*)NULL))
  CALL(posix_spawn, posix_spawn(&child, path, NULL, NULL, words, environ) || waitpid(child, NULL, 0))
  CALL(system, system(path))
  CALL(popen, pclose(popen(path, "r")))
  CALL(load, start_to_load(path))
  CALL(emptied, execve(path, words, (char*[]){NULL}))
  return 3;
}

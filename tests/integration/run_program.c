/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0
 * A program that knows nothing of the cache: compiles a kernel with libnvrtc and prints the PTX.
 * Linked to libnvrtc if LINKED is defined; else argv[1] is what it opens, by OPEN. If OPENS_USER is
 * defined, that is this program as a library. The last argument may say that it compiles much
 * ("slowly"), or again: in eight threads ("threads"), in a child ("forks"), in an exit handler
 * ("exits"), after it has closed the library and opened it again ("closes"), or with the library
 * argv[2] ("both"); or after it has given all descriptors but the standard ones to files and
 * connections of its own: by closing them first ("closes-all"), in a child too, as daemons do
 * ("daemonizes"), or by dup2 ("takes-all"). Their contents must be what it wrote itself. Or again, at
 * the same time as children that have its process number, in namespaces of their own ("namesakes"). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void* Program;
#ifdef LINKED
extern int nvrtcCreateProgram(Program*, const char*, const char*, int, const char* const*,
                              const char* const*);
extern int nvrtcCompileProgram(Program, int, const char* const*);
extern int nvrtcGetPTXSize(Program, size_t*);
extern int nvrtcGetPTX(Program, char*);
extern int nvrtcDestroyProgram(Program*);
#define CALL(name) name
#else
static void* library;
#ifndef OPEN
#define OPEN(name) dlopen(name, RTLD_NOW)
#endif
#define CALL(name) ((int (*)())dlsym(library, #name))
#endif

/* With SLOW there are two hundred kernels, so that a test can find the daemon at work. */
static const char kSource[] =
    "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] *= FACTOR; }\n"
    "#ifdef SLOW\n"
    "#define K(n) __global__ void k##n(float* x) { x[n + 0] = sinf(*x) * powf(x[1], FACTOR); }\n"
    "#define K10(n) K(n##0) K(n##1) K(n##2) K(n##3) K(n##4) K(n##5) K(n##6) K(n##7) K(n##8) K(n##9)\n"
    "#define K100(n) K10(n##0) K10(n##1) K10(n##2) K10(n##3) K10(n##4) \\\n"
    "  K10(n##5) K10(n##6) K10(n##7) K10(n##8) K10(n##9)\n"
    "K100(1) K100(2)\n"
    "#endif\n";

/* Returns a result code of NVRTC's, and the PTX in new memory. */
static int make(const char* factor, const char* more, char** ptx, size_t* size) {
  Program program = NULL;
  const char* options[3] = {"-arch=compute_90", factor, more};
  int code = CALL(nvrtcCreateProgram)(&program, kSource, "run_program.cu", 0, NULL, NULL);
  if (code != 0) return code;
  code = CALL(nvrtcCompileProgram)(program, more == NULL ? 2 : 3, options);
  if (code != 0) return code;
  code = CALL(nvrtcGetPTXSize)(program, size);
  if (code != 0) return code;
  *ptx = malloc(*size);
  code = CALL(nvrtcGetPTX)(program, *ptx);
  return code != 0 ? code : CALL(nvrtcDestroyProgram)(&program);
}

static int compile(const char* factor, const char* more) {
  char* ptx = NULL;
  size_t size = 0;
  const int code = make(factor, more, &ptx, &size);
  if (code != 0) return code;
  fwrite(ptx, 1, size, stdout);
  fflush(stdout);
  free(ptx);
  return 0;
}

struct Made {
  int number;
  int code;
  char* ptx;
  size_t size;
};

static void* compile_in_thread(void* argument) {
  struct Made* made = argument;
  char factor[32];
  snprintf(factor, sizeof(factor), "-DFACTOR=1.%df", made->number);
  made->code = make(factor, NULL, &made->ptx, &made->size);
  return NULL;
}

static int compile_in_threads(void) {
  struct Made made[8];
  pthread_t threads[8];
  int code = 0;
  for (int i = 0; i < 8; ++i) {
    made[i] = (struct Made){i % 4, 0, NULL, 0};
    pthread_create(&threads[i], NULL, compile_in_thread, &made[i]);
  }
  for (int i = 0; i < 8; ++i) {
    pthread_join(threads[i], NULL);
    code |= made[i].code;
    if (made[i].ptx != NULL) fwrite(made[i].ptx, 1, made[i].size, stdout);
  }
  return code;
}

/* Descriptors of this program's own, at all the lowest numbers: a log that has a line, and the two
 * ends of a connection on which five bytes wait. */
#define OWN 24
static int own[OWN];

static void write_line(int log) {
  if (write(log, "line\n", 5) != 5) exit(11);
}

static int open_own(void) {
  for (int i = 0; i < OWN; i += 3) {
    own[i] = memfd_create("log", 0);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, own + i + 1) != 0) return 10;
    write_line(own[i]);
    if (write(own[i + 1], "mine!", 5) != 5 || write(own[i + 2], "mine!", 5) != 5) return 10;
  }
  return 0;
}

/* Each file holds the two lines that were written before and after, each end the bytes of the other. */
static int check_own(void) {
  char bytes[64];
  for (int i = 0; i < OWN; ++i) {
    if (i % 3 == 0) {
      write_line(own[i]);
      if (pread(own[i], bytes, sizeof(bytes), 0) != 10 || memcmp(bytes, "line\nline\n", 10) != 0) {
        return 12;
      }
    } else if (recv(own[i], bytes, sizeof(bytes), MSG_DONTWAIT) != 5 ||
               memcmp(bytes, "mine!", 5) != 0) {
      return 13;
    }
  }
  for (int i = 0; i < OWN; i += 3) {
    if (send(own[i + 1], "more", 4, MSG_NOSIGNAL) != 4 ||
        recv(own[i + 2], bytes, sizeof(bytes), MSG_DONTWAIT) != 4) {
      return 14;
    }
  }
  return 0;
}

static int compile_between(const char* factor) {
  int code = open_own();
  if (code == 0) code = compile(factor, NULL);
  return code != 0 ? code : check_own();
}

static int compile_after_closing_all(const char* factor) {
  for (int i = 3; i < 256; ++i) close(i);
  return compile_between(factor);
}

/* Puts a file of its own in the place of each descriptor that is open, and says in how many. */
static int compile_after_taking_all(void) {
  int open[256];
  int taken = 0;
  for (int i = 3; i < 256; ++i) open[i] = fcntl(i, F_GETFD) >= 0;
  int code = open_own();
  int pairs[2];
  for (int i = 3; code == 0 && i < 256; ++i) {
    if (!open[i] || fcntl(i, F_GETFD) < 0) continue;
    ++taken;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs) != 0) return 10;
    write(pairs[1], "mine!", 5);
    dup2(pairs[0], i);
    char bytes[64];
    code = compile(i % 2 == 0 ? "-DFACTOR=6.0f" : "-DFACTOR=7.0f", NULL);
    if (code == 0 && (recv(i, bytes, sizeof(bytes), MSG_DONTWAIT) != 5 ||
                      recv(pairs[1], bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)) {
      code = 13;
    }
  }
  if (code == 0) code = compile("-DFACTOR=6.0f", NULL);
  printf("\n%d\n", taken);
  return code;
}

/* Returns whether the PTX is the same, each of three times. */
static int makes(const char* factor, const char* expected, size_t expected_size) {
  int same = 1;
  for (int i = 0; i < 3; ++i) {
    char* ptx = NULL;
    size_t size = 0;
    same &= make(factor, NULL, &ptx, &size) == 0 && size == expected_size &&
            memcmp(ptx, expected, size) == 0;
    free(ptx);
  }
  return same;
}

static int compile_beside_namesakes(void) {
  char *mine = NULL, *childs = NULL;
  size_t size = 0, childs_size = 0;
  int code = make("-DFACTOR=2.0f", NULL, &mine, &size);
  if (code == 0) code = make("-DFACTOR=3.0f", NULL, &childs, &childs_size);
  if (code == 0 && getpid() != 1) code = 20;
  for (int i = 0; code == 0 && i < 200; ++i) {
    const pid_t child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(makes("-DFACTOR=3.0f", childs, childs_size) ? 0 : 21);
    if (!makes("-DFACTOR=2.0f", mine, size)) code = 22;
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) code = 23;
  }
  return code;
}

#ifndef LINKED
static void* compile_cancelled(void* path) {
  char* ptx = NULL;
  size_t size = 0;
  pthread_cancel(pthread_self());
  library = OPEN(path);
  make("-DFACTOR=6.0f", NULL, &ptx, &size);
  pthread_testcancel();
  return NULL;
}

static int join_cancelled(char* path) {
  pthread_t thread;
  void* end = NULL;
  pthread_create(&thread, NULL, compile_cancelled, path);
  pthread_join(thread, &end);
  puts(end == PTHREAD_CANCELED ? "cancelled" : "returned");
  return 0;
}
#endif

static void compile_at_exit(void) { compile("-DFACTOR=4.0f", NULL); }

int main(int argc, char** argv) {
#ifndef LINKED
  if (strcmp(argv[argc - 1], "cancelled") == 0) return join_cancelled(argv[1]);
  library = OPEN(argv[1]);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
#ifdef OPENS_USER
  return ((int (*)(int, char**))dlsym(library, "user_main"))(argc, argv);
#endif
#endif
  const char* mode = argv[argc - 1];
  int code = compile("-DFACTOR=2.0f", strcmp(mode, "slowly") == 0 ? "-DSLOW" : NULL);
  if (strcmp(mode, "exits") == 0) atexit(compile_at_exit);
  if (code == 0 && strcmp(mode, "threads") == 0) code = compile_in_threads();
  if (code == 0 && strcmp(mode, "namesakes") == 0) code = compile_beside_namesakes();
  if (code == 0 && strcmp(mode, "forks") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(compile("-DFACTOR=3.0f", NULL));
    int status = 0;
    waitpid(child, &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 7;
  }
  if (code == 0 && strcmp(mode, "closes-all") == 0) code = compile_after_closing_all("-DFACTOR=6.0f");
  if (code == 0 && strcmp(mode, "takes-all") == 0) code = compile_after_taking_all();
  if (code == 0 && strcmp(mode, "daemonizes") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(compile_after_closing_all("-DFACTOR=6.0f"));
    int status = 0;
    waitpid(child, &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 7;
    if (code == 0) code = compile_after_closing_all("-DFACTOR=7.0f");
  }
#ifndef LINKED
  if (code == 0 && strcmp(mode, "closes") == 0) {
    dlclose(library);
    library = OPEN(argv[1]);
    code = compile("-DFACTOR=5.0f", NULL);
  }
  if (code == 0 && strcmp(mode, "both") == 0) {
    library = OPEN(argv[2]);
    code = library == NULL ? 2 : compile("-DFACTOR=2.0f", NULL);
  }
#endif
  return code;
}

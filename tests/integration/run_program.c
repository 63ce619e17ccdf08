/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0
 * A program that knows nothing of the cache: compiles a kernel with libnvrtc and prints the PTX.
 * Linked to libnvrtc if LINKED is defined; else argv[1] is what it opens, by OPEN. If OPENS_USER is
 * defined, that is this program as a library. The last argument may say that it compiles much
 * ("slowly"), or again: in eight threads ("threads"), in a child ("forks"), in an exit handler
 * ("exits"), after it has closed the library and opened it again ("closes"), or with the library
 * argv[2] ("both"). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void compile_at_exit(void) { compile("-DFACTOR=4.0f", NULL); }

int main(int argc, char** argv) {
#ifndef LINKED
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
  if (code == 0 && strcmp(mode, "forks") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(compile("-DFACTOR=3.0f", NULL));
    int status = 0;
    waitpid(child, &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 7;
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

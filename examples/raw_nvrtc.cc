// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// raw_nvrtc LIBRARY FILE OUTPUT [OPTION]...
//
// Compiles FILE with the NVRTC at LIBRARY alone: the cost of a build without the daemon. Prints the
// milliseconds of the compile; the caller can time the process.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Program = struct _nvrtcProgram*;

/// The functions of NVRTC that one compile takes. The library stays loaded.
struct Nvrtc {
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
};

template <typename Function>
bool Load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool Open(const std::string& path, Nvrtc& nvrtc) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  return Load(library, "nvrtcCreateProgram", nvrtc.create) &&
         Load(library, "nvrtcCompileProgram", nvrtc.compile) &&
         Load(library, "nvrtcGetProgramLogSize", nvrtc.log_size) &&
         Load(library, "nvrtcGetProgramLog", nvrtc.log) &&
         Load(library, "nvrtcGetCUBINSize", nvrtc.cubin_size) &&
         Load(library, "nvrtcGetCUBIN", nvrtc.cubin);
}

void PrintLog(const Nvrtc& nvrtc, Program program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != 0) return;
  std::string log(size, '\0');
  if (nvrtc.log(program, log.data()) == 0) std::fputs(log.c_str(), stderr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: raw_nvrtc LIBRARY FILE OUTPUT [OPTION]...\n");
    return 2;
  }
  Nvrtc nvrtc;
  if (!Open(argv[1], nvrtc)) return 5;
  std::ifstream file(argv[2], std::ios::binary);
  const std::string source((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  const std::vector<const char*> options(argv + 4, argv + argc);

  const auto begin = std::chrono::steady_clock::now();
  Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), argv[2], 0, nullptr, nullptr) != 0) return 5;
  if (nvrtc.compile(program, static_cast<int>(options.size()), options.data()) != 0) {
    PrintLog(nvrtc, program);
    return 1;
  }
  size_t size = 0;
  if (nvrtc.cubin_size(program, &size) != 0) return 5;
  std::string cubin(size, '\0');
  if (nvrtc.cubin(program, cubin.data()) != 0) return 5;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;

  std::ofstream output(argv[3], std::ios::binary);
  output.write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
  std::printf("%.1f\n", took.count());
  return output.good() ? 0 : 5;
}

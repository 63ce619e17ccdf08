// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The library libcccl_cache_audit.so, which is loaded through LD_AUDIT (rtld-audit(7)). When the
// dynamic loader is about to load NVIDIA's libnvrtc, libnvJitLink or libnvvm, this auditor makes it
// load a stand-in library of the same feature level instead, and writes the path of NVIDIA's file
// into the stand-in. A library of an unknown feature level is loaded unchanged. All libraries are,
// if the C library is too old for the stand-ins. The auditor itself also works with old C
// libraries: it uses no C++ runtime, and the loader gives it its own copy of the C library. The
// loader holds its lock while it calls these functions, so the calls never overlap. The auditor
// intercepts no function calls, so it costs nothing after a library is loaded.
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/cancellation.h"
#include "client/interpose/elf_file.h"
#include "client/interpose/level.h"
#include "client/interpose/loaded_names.h"
#include "client/interpose/real_mark.h"

namespace {

using namespace cccl_cache::interpose;  // NOLINT: only the exports are outside of this namespace

/// The state of one stand-in library (one per feature level): the file of NVIDIA that it replaces.
struct Service {
  char asked[PATH_MAX];  ///< path of NVIDIA's file as the loader last tried it
  char real[PATH_MAX];   ///< path of that file with symlinks resolved; empty if there is none yet
  bool mapped;
};
Service services[kLevelCount];
char own_path[PATH_MAX];   ///< path of this library with symlinks resolved
char directory[PATH_MAX];  ///< directory of this library, which has the stand-ins' folders
bool is_idle;              ///< whether this process gets no stand-ins

using StandInPath = char[PATH_MAX + 64];
void StandInOf(size_t level, StandInPath& path) {
  std::snprintf(path, sizeof(path), "%s/%s", directory, kLevels[level].standin);
}

/// If `map` is the stand-in of this level, writes the path of NVIDIA's file into it. Returns false
/// if `map` is another library.
bool Tell(const link_map* map, size_t level) {
  StandInPath path;
  StandInOf(level, path);
  // The name of the loaded stand-in is the path that the loader tried, if the loader searched its
  // directories, or else the stand-in's path.
  if (std::strcmp(map->l_name, services[level].asked) != 0 && std::strcmp(map->l_name, path) != 0) {
    return false;
  }
  const ElfFile file(path);
  if (reinterpret_cast<ElfW(Addr)>(map->l_ld) != map->l_addr + file.DynamicSection()) return false;
  char* told = nullptr;
  file.ForEachExport([&](const char* name, uintptr_t address) {
    if (std::strcmp(name, "cccl_cache_standin_real") == 0) {
      told = reinterpret_cast<char*>(map->l_addr + address);
    }
  });
  if (told != nullptr) std::strcpy(told, services[level].real);
  return told != nullptr;
}

/// If `object` is this library, writes its path to `path` and returns 1; otherwise returns 0.
/// dladdr() would be simpler, but up to glibc 2.33 it works only after the program has been loaded.
int FindOwnPath(dl_phdr_info* object, size_t, void* path) {
  const auto own = reinterpret_cast<ElfW(Addr)>(&services);
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    // If the address is below the segment, the unsigned difference is larger than any segment.
    const ElfW(Addr) offset = own - (object->dlpi_addr + segment.p_vaddr);
    if (segment.p_type != PT_LOAD || offset >= segment.p_memsz) continue;
    return realpath(object->dlpi_name, static_cast<char*>(path)) != nullptr;
  }
  return 0;
}

bool IsLibrary(const char* path, const char* name) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr && std::strcmp(slash + 1, name) == 0;
}

/// Returns whether `name` is libcccl_cache_exec.so (which redirects compilers and is named in
/// LD_PRELOAD) and the process's C library is too old for it. The loader would end the program
/// then.
bool IsTooNew(const char* name) { return IsLibrary(name, kExec) && !CLibrarySuffices(name); }

/// Returns whether the variables of a container's device (`cccl-cache-cli cdi`) are set. They are
/// the same for all images.
bool IsInContainer() {
  const char* const preloaded = std::getenv("LD_PRELOAD");
  return preloaded != nullptr && std::strstr(preloaded, kPlaceholder) != nullptr;
}

/// Returns whether the file can be mapped as code. Only a real mmap() tells: access() checks the
/// real user instead of the effective one and ignores Landlock, and a file on a noexec file system
/// can be read but not mapped.
bool CanMap(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  void* const byte = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  close(file);
  return byte != MAP_FAILED && munmap(byte, 1) == 0;
}

/// Returns whether this process runs one of the cache's own programs. They inherit LD_AUDIT from a
/// program that starts them, but need no stand-ins.
bool IsOwnProgram() {
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (path == nullptr) return false;
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, "cccl-cache", 10) == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned la_version(unsigned version) {
  const cccl_cache::CancellationDisabled guard;
  is_idle = IsOwnProgram() || (IsInContainer() && !AuditsAreFree());
  if (is_idle && AuditorsMayLeave()) return 0;
  if (dl_iterate_phdr(FindOwnPath, own_path) == 0) return 0;
  std::strcpy(directory, own_path);
  *std::strrchr(directory, '/') = '\0';
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

extern "C" __attribute__((visibility("default"))) char* la_objsearch(const char* name, uintptr_t*,
                                                                     unsigned) {
  // If the thread were cancelled in this call, the loader's lock would stay locked.
  const cccl_cache::CancellationDisabled guard;
  static StandInPath standin;
  char real[PATH_MAX];
  char* const unchanged = const_cast<char*>(name);
  // The loader gets this auditor in place of the too new library, where it does nothing. If it got
  // no file, it would print an error.
  if (IsTooNew(name)) return own_path;
  if (is_idle) return unchanged;
  if (IsLibrary(name, kPlaceholder)) {
    std::snprintf(standin, sizeof(standin), "%s/%s", directory, kExec);
    return CanMap(standin) && CLibrarySuffices(standin) ? standin : unchanged;
  }
  if (!IsServed(name) || HasRealMark(name) || realpath(name, real) == nullptr) return unchanged;
  const size_t own = std::strlen(directory);
  if (std::strncmp(real, directory, own) == 0 && real[own] == '/') return unchanged;
  const size_t level = LevelOf(real);
  if (level == kLevelCount || std::strlen(name) >= PATH_MAX) return unchanged;
  Service& service = services[level];
  // A stand-in can replace only one file. A second file of the same level is loaded unchanged.
  if (service.mapped && std::strcmp(service.real, real) != 0) return unchanged;
  StandInOf(level, standin);
  if (!CanMap(standin) || !CanMap(real) || !CLibrarySuffices(standin)) return unchanged;
  // The loader may only be searching its directories. The stand-in counts as used once la_objopen()
  // finds it mapped.
  std::strcpy(service.asked, name);
  std::strcpy(service.real, real);
  return standin;
}

extern "C" __attribute__((visibility("default"))) unsigned la_objopen(link_map* map, Lmid_t,
                                                                      uintptr_t*) {
  const cccl_cache::CancellationDisabled guard;
  if (!IsServed(map->l_name)) return 0;
  for (size_t level = 0; level < kLevelCount; ++level) {
    if (services[level].real[0] == '\0' || !Tell(map, level)) continue;
    services[level].mapped = true;
  }
  return 0;
}

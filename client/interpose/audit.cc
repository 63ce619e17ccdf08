// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// libcccl_cache_audit.so, for LD_AUDIT (rtld-audit(7)). Where the loader is about to map NVIDIA's
// libnvrtc or libnvJitLink, it maps the stand-in of the same feature level instead, and passes the
// file's path to it. A library of an unknown level is left alone; all are if the C library is too
// old for the stand-ins. This file works with old ones: it uses no C++ runtime, and the loader
// gives it a C library of its own. The loader holds its lock during these calls, so they never
// overlap. The auditor hooks no calls, so it costs nothing after a library is loaded.
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
#include "client/interpose/real_mark.h"

namespace {

using namespace cccl_cache::interpose;  // NOLINT: this file is of that namespace but for its
                                        // exports

/// The file that the stand-in of one level replaces.
struct Service {
  char asked[PATH_MAX];  ///< path that the loader tried last
  char real[PATH_MAX];   ///< the same file's path with symlinks resolved
  bool mapped;
};
Service services[kLevelCount];
char own_path[PATH_MAX];   ///< with symlinks resolved
char directory[PATH_MAX];  ///< of this file and of the stand-ins' folders

using StandInPath = char[PATH_MAX + 64];
void StandInOf(size_t level, StandInPath& path) {
  std::snprintf(path, sizeof(path), "%s/%s", directory, kLevels[level].standin);
}

/// Writes the real file's path into the stand-in at `map`. Returns false if `map` is another
/// library.
bool Tell(const link_map* map, size_t level) {
  StandInPath path;
  StandInOf(level, path);
  // A library that was found by a search has the path of the found file as its name.
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

/// Writes this file's real path to `path` if `object` is this file. dladdr() of glibc 2.33 and
/// older works only after the program has been loaded.
int FindOwnPath(dl_phdr_info* object, size_t, void* path) {
  const auto own = reinterpret_cast<ElfW(Addr)>(&services);
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    // For an address below the segment the difference wraps to a large number.
    const ElfW(Addr) offset = own - (object->dlpi_addr + segment.p_vaddr);
    if (segment.p_type != PT_LOAD || offset >= segment.p_memsz) continue;
    return realpath(object->dlpi_name, static_cast<char*>(path)) != nullptr;
  }
  return 0;
}

/// Returns whether this is the library that redirects tools, named in LD_PRELOAD, and this
/// process's C library is too old for it: the loader would end the program.
bool IsTooNew(const char* name) {
  const char* slash = std::strrchr(name, '/');
  return slash != nullptr && std::strcmp(slash, "/libcccl_cache_exec.so") == 0 &&
         !CLibrarySuffices(name);
}

/// Returns whether the file can be mapped, by mapping it: access() checks the real user and ignores
/// Landlock, and a file on a noexec file system can be read but not mapped.
bool CanMap(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  void* const byte = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  close(file);
  return byte != MAP_FAILED && munmap(byte, 1) == 0;
}

/// Returns whether this process is one of the cache's own programs, which a program may start.
bool IsOwnProgram() {
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (path == nullptr) return false;
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, "cccl-cache", 10) == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned la_version(unsigned version) {
  const cccl_cache::CancellationDisabled guard;
  if (IsOwnProgram()) return 0;
  if (dl_iterate_phdr(FindOwnPath, own_path) == 0) return 0;
  std::strcpy(directory, own_path);
  *std::strrchr(directory, '/') = '\0';
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

extern "C" __attribute__((visibility("default"))) char* la_objsearch(const char* name, uintptr_t*,
                                                                     unsigned) {
  // A thread that is cancelled here would leave the loader's lock held.
  const cccl_cache::CancellationDisabled guard;
  static StandInPath standin;
  char real[PATH_MAX];
  char* const unchanged = const_cast<char*>(name);
  // This file is loaded instead of it, and does nothing there. Without any file the loader would
  // print an error.
  if (IsTooNew(name)) return own_path;
  if (!IsServed(name) || HasRealMark(name) || realpath(name, real) == nullptr) return unchanged;
  const size_t own = std::strlen(directory);
  if (std::strncmp(real, directory, own) == 0 && real[own] == '/') return unchanged;
  const size_t level = LevelOf(real);
  if (level == kLevelCount || std::strlen(name) >= PATH_MAX) return unchanged;
  Service& service = services[level];
  // A stand-in serves one file. A second file of the same level is left alone.
  if (service.mapped && std::strcmp(service.real, real) != 0) return unchanged;
  StandInOf(level, standin);
  if (!CanMap(standin) || !CanMap(real) || !CLibrarySuffices(standin)) return unchanged;
  // The loader may only be searching: the file counts once the stand-in is mapped.
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

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;  // by the linker

// The feature levels of NVIDIA's libraries, and how to find that of a file. Uses no C++ runtime:
// the auditor has none.

namespace cccl_cache::interpose {

/// One stand-in, and the files in whose place it is mapped.
struct Level {
  const char* library;  ///< "libnvrtc"
  const char* standin;  ///< "nvrtc-12.8/libnvrtc.so.12"
  size_t count;         ///< of names
  const char* names;    ///< what it exports, each with a NUL
};
inline constexpr Level kLevels[] = {
#include "levels.inc"
};
inline constexpr size_t kLevelCount = sizeof(kLevels) / sizeof(*kLevels);

/// A library's file, mapped to be read. One for another machine, which the loader passes over, has
/// nothing in it.
class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > off_t(sizeof(ElfW(Ehdr)))) {
      size_ = static_cast<size_t>(status.st_size);
      data_ = static_cast<const char*>(mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0));
      if (data_ == MAP_FAILED || !IsForThisMachine()) Close();
    }
    if (fd >= 0) close(fd);
  }
  ~ElfFile() { Close(); }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Calls `visit(name, address)` for each symbol that the library exports.
  template <typename Visit>
  void ForEachExport(Visit visit) const {
    const auto* header = At<ElfW(Ehdr)>(0, 1);
    const auto* sections =
        header == nullptr ? nullptr : At<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    for (size_t i = 0; sections != nullptr && i < header->e_shnum; ++i) {
      const ElfW(Shdr)& section = sections[i];
      if (section.sh_type != SHT_DYNSYM || section.sh_link >= header->e_shnum) continue;
      const size_t count = section.sh_size / sizeof(ElfW(Sym));
      const ElfW(Shdr)& texts = sections[section.sh_link];
      const auto* symbols = At<ElfW(Sym)>(section.sh_offset, count);
      const auto* text = At<char>(texts.sh_offset, texts.sh_size);
      if (symbols == nullptr || text == nullptr || text[texts.sh_size - 1] != '\0') return;
      for (size_t j = 0; j < count; ++j) {
        const ElfW(Sym)& symbol = symbols[j];
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
        if (symbol.st_name < texts.sh_size) visit(text + symbol.st_name, symbol.st_value);
      }
    }
  }

  /// Returns where the dynamic section lies, from the library's base; 0 if it has none.
  [[nodiscard]] ElfW(Addr) DynamicSection() const {
    const auto* header = At<ElfW(Ehdr)>(0, 1);
    const auto* segments =
        header == nullptr ? nullptr : At<ElfW(Phdr)>(header->e_phoff, header->e_phnum);
    for (size_t i = 0; segments != nullptr && i < header->e_phnum; ++i) {
      if (segments[i].p_type == PT_DYNAMIC) return segments[i].p_vaddr;
    }
    return 0;
  }

 private:
  /// Null if it is not in the file, or if there is none.
  template <typename T>
  const T* At(uint64_t offset, uint64_t count) const {
    if (data_ == nullptr || count == 0 || offset > size_) return nullptr;
    if (count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }
  [[nodiscard]] bool IsForThisMachine() const {
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(data_);
    return std::memcmp(header->e_ident, __ehdr_start.e_ident, EI_VERSION + 1) == 0 &&
           header->e_machine == __ehdr_start.e_machine;
  }
  void Close() {
    if (data_ != nullptr && data_ != MAP_FAILED) munmap(const_cast<char*>(data_), size_);
    data_ = nullptr;
  }

  const char* data_ = nullptr;
  size_t size_ = 0;
};

inline bool Exports(const Level& level, const char* name) {
  const char* each = level.names;
  for (size_t i = 0; i < level.count; ++i, each += std::strlen(each) + 1) {
    if (std::strcmp(each, name) == 0) return true;
  }
  return false;
}

/// Returns whether this is a name of the library's file. Wheels that carry a copy put a hash into
/// it; libnvrtc-builtins is another library.
inline bool IsNameOf(const char* library, const char* name) {
  const size_t size = std::strlen(library);
  if (std::strncmp(name, library, size) != 0) return false;
  const char* rest = name + size;
  return std::strncmp(rest, ".so", 3) == 0 ||
         (*rest == '-' && std::strncmp(rest, "-builtins", 9) != 0);
}

/// Returns the index of the level that exports exactly the names that this file does; kLevelCount
/// if none does.
inline size_t LevelOf(const char* path) {
  const char* name = std::strrchr(path, '/') + 1;
  size_t exported = 0;
  const ElfFile file(path);
  file.ForEachExport([&](const char*, uintptr_t) { ++exported; });
  for (size_t i = 0; i < kLevelCount; ++i) {
    if (kLevels[i].count != exported || !IsNameOf(kLevels[i].library, name)) continue;
    size_t same = 0;
    file.ForEachExport([&](const char* each, uintptr_t) { same += Exports(kLevels[i], each); });
    if (same == exported) return i;
  }
  return kLevelCount;
}

/// Returns whether the path's last part is a name of any of the libraries. A bare name is none: its
/// candidates come next.
inline bool IsServed(const char* path) {
  const char* slash = std::strrchr(path, '/');
  if (slash == nullptr) return false;
  for (const Level& level : kLevels) {
    if (IsNameOf(level.library, slash + 1)) return true;
  }
  return false;
}

}  // namespace cccl_cache::interpose

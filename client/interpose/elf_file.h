// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "client/interpose/c_library.h"

// The ELF header of the file that contains this code. The linker defines the symbol.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

// This header uses no C++ runtime, because two libraries that include it are linked without one:
// libcccl_cache_audit.so and libcccl_cache_exec.so.

namespace cccl_cache::interpose {

/// The file of an ELF library, mapped for reading. A file for another machine appears empty,
/// because the dynamic loader would skip it.
class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    // fstat() is not used: if built with glibc 2.33 or newer, it is missing in older C libraries.
    const off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (size > off_t(sizeof(ElfW(Ehdr)))) {
      size_ = static_cast<size_t>(size);
      data_ = static_cast<const char*>(mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0));
      if (data_ == MAP_FAILED || !IsForThisMachine()) Close();
    }
    if (fd >= 0) close(fd);
  }
  ~ElfFile() { Close(); }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Calls `visit(name, address)` for each exported symbol. The address is relative to the
  /// library's base.
  template <typename Visit>
  void ForEachExport(Visit visit) const {
    const Symbols symbols = DynamicSymbols();
    for (size_t i = 0; i < symbols.count; ++i) {
      const ElfW(Sym)& symbol = symbols.first[i];
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
      if (symbol.st_name < symbols.text_size) visit(symbols.text + symbol.st_name, symbol.st_value);
    }
  }

  /// Calls `visit(name)` for each name in the dynamic string table: the names of symbols, symbol
  /// versions and needed libraries.
  template <typename Visit>
  void ForEachName(Visit visit) const {
    const Symbols symbols = DynamicSymbols();
    const char* const end = symbols.text + symbols.text_size;
    for (const char* name = symbols.text; name != end; name += std::strlen(name) + 1) visit(name);
  }

  /// Returns the address of the dynamic section relative to the library's base; 0 if it has none.
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
  /// The dynamic symbol table, and the string table with the names of the symbols, which end in a
  /// NUL.
  struct Symbols {
    const ElfW(Sym) * first = nullptr;
    size_t count = 0;
    const char* text = nullptr;
    size_t text_size = 0;
  };
  [[nodiscard]] Symbols DynamicSymbols() const {
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
      if (symbols == nullptr || text == nullptr || text[texts.sh_size - 1] != '\0') break;
      return {symbols, count, text, texts.sh_size};
    }
    return {};
  }
  /// Returns a pointer to `count` objects at the offset, or null if they are not fully in the file.
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

/// Returns whether this process's C library has all symbol versions that the file needs, which is
/// one of this installation. In a container the C library may be older than that of the build
/// machine.
inline bool CLibrarySuffices(const char* path) {
  constexpr char kVersion[] = "GLIBC_2.";
  constexpr size_t kSize = sizeof(kVersion) - 1;
  const unsigned minor = GlibcMinor();
  if (minor == 0 || minor >= __GLIBC_MINOR__) return minor != 0;
  bool suffices = true;
  ElfFile(path).ForEachName([&](const char* name) {
    if (std::strncmp(name, kVersion, kSize) == 0 && NumberAt(name + kSize) > minor)
      suffices = false;
  });
  return suffices;
}

}  // namespace cccl_cache::interpose

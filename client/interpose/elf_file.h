// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;  // set by the
                                                                                 // linker
extern "C" __attribute__((weak)) const char* gnu_get_libc_version() noexcept;    // null with musl

// Uses no C++ runtime, because the auditor and the library that redirects tools have none.

namespace cccl_cache::interpose {

/// A library's file, mapped for reading. A file for another machine appears empty, because the
/// loader skips it.
class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    // lseek, because the fstat() of a new C library is missing in old ones.
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

  /// Calls `visit(name, address)` for each symbol that the library exports.
  template <typename Visit>
  void ForEachExport(Visit visit) const {
    const Symbols symbols = DynamicSymbols();
    for (size_t i = 0; i < symbols.count; ++i) {
      const ElfW(Sym)& symbol = symbols.first[i];
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
      if (symbol.st_name < symbols.text_size) visit(symbols.text + symbol.st_name, symbol.st_value);
    }
  }

  /// Calls `visit(name)` for the name of each symbol, version and needed library.
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
  /// The dynamic symbols, and their names, each with a NUL at its end.
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
  /// Returns null if the range is not in the file.
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

/// Returns whether this process's C library has all versions that a file of this installation
/// needs. In a container it may be older than the one that the installation was built with.
inline bool CLibrarySuffices(const char* path) {
  constexpr char kVersion[] = "GLIBC_2.";
  constexpr size_t kSize = sizeof(kVersion) - 1;
  const auto number = [](const char* digit) {
    unsigned read = 0;
    for (; *digit >= '0' && *digit <= '9'; ++digit) read = read * 10 + unsigned(*digit - '0');
    return read;
  };
  if (gnu_get_libc_version == nullptr) return false;
  const unsigned minor = number(gnu_get_libc_version() + std::strlen("2."));
  if (minor >= __GLIBC_MINOR__) return true;
  bool suffices = true;
  ElfFile(path).ForEachName([&](const char* name) {
    if (std::strncmp(name, kVersion, kSize) == 0 && number(name + kSize) > minor) suffices = false;
  });
  return suffices;
}

}  // namespace cccl_cache::interpose

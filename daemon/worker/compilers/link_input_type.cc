// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/link_input_type.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace cccl_cache::daemon {
namespace {

using cccl_cache::LinkInputType;

constexpr std::string_view kElfMagic{
    "\x7f"
    "ELF",
    4};
constexpr std::string_view kArchiveMagic{"!<arch>\n", 8};
constexpr std::string_view kFatbinMagic{"\x50\xed\x55\xba", 4};  // 0xBA55ED50
constexpr std::string_view kLtoIrMagic{"\xed\x43\x4e\x7f", 4};   // 0x7F4E43ED
constexpr uint16_t kCudaMachine = 190;                           // EM_CUDA, not in every elf.h

uint16_t ElfMachine(std::string_view contents) {
  uint16_t machine = EM_NONE;
  constexpr size_t kOffset = offsetof(Elf64_Ehdr, e_machine);  // the same in 32-bit files
  if (contents.size() >= kOffset + sizeof(machine)) {
    std::memcpy(&machine, contents.data() + kOffset, sizeof(machine));
  }
  return machine;
}

/// PTX is text whose first statement is `.version`.
bool IsPtx(std::string_view contents) {
  while (!contents.empty()) {
    const size_t start = contents.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return false;
    contents.remove_prefix(start);
    size_t end;
    if (contents.starts_with("//")) {
      end = contents.find('\n');
    } else if (contents.starts_with("/*")) {
      end = contents.find("*/");
      if (end != std::string_view::npos) end += 2;
    } else {
      return contents.starts_with(".version");
    }
    if (end == std::string_view::npos) return false;
    contents.remove_prefix(end);
  }
  return false;
}

}  // namespace

LinkInputType LinkInputTypeOf(std::string_view contents) {
  if (contents.starts_with(kElfMagic)) {
    return ElfMachine(contents) == kCudaMachine ? LinkInputType::kCubin : LinkInputType::kObject;
  }
  if (contents.starts_with(kArchiveMagic)) return LinkInputType::kLibrary;
  if (contents.starts_with(kFatbinMagic)) return LinkInputType::kFatbin;
  if (contents.starts_with(kLtoIrMagic)) return LinkInputType::kLtoIr;
  return IsPtx(contents) ? LinkInputType::kPtx : LinkInputType::kUnspecified;
}

}  // namespace cccl_cache::daemon

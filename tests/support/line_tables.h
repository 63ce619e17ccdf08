// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>

/// Cubins with nothing but a line table, as ptxas writes it.
namespace cccl_cache::line_tables {

/// Returns the bytes of a value.
template <typename Value>
std::string BytesOf(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

/// Returns a table with one directory and these entries of files, each with a NUL behind its name.
inline std::string Table(std::string_view directory, std::string_view files, uint16_t version = 2) {
  std::string head(version < 4 ? 4 : 5, '\1');
  head.append("\3\0\1", 3).append(directory).push_back('\0');
  head.append(1, '\0').append(files).push_back('\0');
  std::string unit = BytesOf(version) + BytesOf(static_cast<uint32_t>(head.size())) + head;
  unit.append("\0\1\1", 3);  // a program
  return BytesOf(static_cast<uint32_t>(unit.size())) + unit;
}

inline std::string Cubin(const std::string& tables, uint64_t flags = 0) {
  constexpr std::string_view kNames("\0.debug_line\0.shstrtab\0", 23);
  Elf64_Ehdr header{};
  const std::string_view magic("\177ELF\2\1\1", 7);
  magic.copy(reinterpret_cast<char*>(header.e_ident), magic.size());
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof(header) + kNames.size() + tables.size();
  Elf64_Shdr lines{};
  lines.sh_name = 1;
  lines.sh_type = SHT_PROGBITS;
  lines.sh_flags = flags;
  lines.sh_offset = sizeof(header) + kNames.size();
  lines.sh_size = tables.size();
  Elf64_Shdr names{};
  names.sh_name = 13;
  names.sh_type = SHT_STRTAB;
  names.sh_offset = sizeof(header);
  names.sh_size = kNames.size();
  std::string file = BytesOf(header);
  file.append(kNames).append(tables);
  return file + BytesOf(Elf64_Shdr{}) + BytesOf(lines) + BytesOf(names);
}

}  // namespace cccl_cache::line_tables

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/line_table.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kLineTable = ".debug_line";
/// The highest DWARF version in which tables of files have this form.
constexpr uint16_t kLastVersion = 4;
constexpr uint32_t kLongUnit = 0xfffffff0;  ///< from here on, a length is a mark of another format

/// Takes a text and the NUL behind it.
std::string_view TakeName(ByteReader* reader) {
  const std::string_view name = reader->rest().substr(0, reader->rest().find('\0'));
  reader->Bytes(name.size() + 1);
  return name;
}

/// Takes a number in LEB128 of at most 64 bits.
uint64_t TakeNumber(ByteReader* reader) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = reader->Take<uint8_t>();
    number |= uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return number;
  }
  reader->Fail();
  return 0;
}

std::string Encoded(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}

/// Returns a table's numbers for a file: its time and its size. None if one of them is longer than
/// 32 bits, of which ptxas writes a part.
std::optional<std::string> NumbersOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return Encoded(0) + Encoded(0);
  if (!std::in_range<uint32_t>(status.st_mtim.tv_sec) || !std::in_range<uint32_t>(status.st_size)) {
    return std::nullopt;
  }
  return Encoded(static_cast<uint64_t>(status.st_mtim.tv_sec)) +
         Encoded(static_cast<uint64_t>(status.st_size));
}

/// Writes the numbers of one section, which is a part of the cubin.
bool SetTimesIn(std::string_view section, std::string* cubin, std::vector<std::string>* missing) {
  ByteReader units(section);
  while (units.ok() && !units.rest().empty()) {
    const auto length = units.Take<uint32_t>();
    if (length >= kLongUnit) return false;
    ByteReader unit(units.Bytes(length));
    const auto version = unit.Take<uint16_t>();
    if (version > kLastVersion) return false;
    ByteReader head(unit.Bytes(unit.Take<uint32_t>()));
    head.Bytes(version == kLastVersion ? 5 : 4);
    const auto opcodes = head.Take<uint8_t>();
    if (opcodes > 0) head.Bytes(opcodes - 1U);
    std::vector<std::string_view> directories = {""};
    for (auto name = TakeName(&head); !name.empty(); name = TakeName(&head)) {
      directories.push_back(name);
    }
    for (auto name = TakeName(&head); !name.empty(); name = TakeName(&head)) {
      const uint64_t directory = TakeNumber(&head);
      const std::string_view before = head.rest();
      const uint64_t time = TakeNumber(&head);
      const uint64_t size = TakeNumber(&head);
      if (!head.ok() || directory >= directories.size()) return false;
      std::string path(directories[directory]);
      if (!path.empty()) path.push_back('/');
      path.append(name);
      const std::optional<std::string> numbers = NumbersOf(path);
      if (!numbers) return false;
      const size_t old_size = before.size() - head.rest().size();
      if (time == 0 && size == 0) {
        const bool is_missing = access(path.c_str(), F_OK) != 0;
        if (is_missing) missing->push_back(path);
        // A file with these numbers does not show whether this ptxas writes times.
        if (!is_missing && *numbers == Encoded(0) + Encoded(0)) return false;
        continue;
      }
      if (numbers->size() != old_size) return false;
      cubin->replace(static_cast<size_t>(before.data() - cubin->data()), old_size, *numbers);
    }
    if (!head.ok() || !unit.ok()) return false;
  }
  return units.ok();
}

/// Copies the value at an offset. None if it is not within the bytes.
template <typename Value>
std::optional<Value> At(std::string_view bytes, uint64_t offset) {
  Value value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(value)) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::optional<std::string_view> ContentsOf(const Elf64_Shdr& section, std::string_view file) {
  if (section.sh_type == SHT_NOBITS) return std::string_view();
  if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset) {
    return std::nullopt;
  }
  return file.substr(section.sh_offset, section.sh_size);
}

}  // namespace

std::optional<std::vector<std::string>> SetTimes(std::string* cubin) {
  const std::string_view file = *cubin;
  const auto header = At<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  const auto section_at = [&](uint64_t number) {
    return At<Elf64_Shdr>(file, header->e_shoff + number * sizeof(Elf64_Shdr));
  };
  const auto names = section_at(header->e_shstrndx);
  const auto texts = names ? ContentsOf(*names, file) : std::nullopt;
  if (!texts) return std::nullopt;
  std::vector<std::string> missing;
  for (uint64_t number = 0; number < header->e_shnum; ++number) {
    const auto section = section_at(number);
    if (!section || section->sh_name >= texts->size()) return std::nullopt;
    const std::string_view name = texts->substr(section->sh_name);
    if (name.substr(0, name.find('\0')) != kLineTable) continue;
    const auto contents = ContentsOf(*section, file);
    const bool compressed = (section->sh_flags & SHF_COMPRESSED) != 0;
    if (compressed || !contents || !SetTimesIn(*contents, cubin, &missing)) return std::nullopt;
  }
  return missing;
}

bool GivesTimes(std::string_view ptx) {
  constexpr std::string_view kDirective = ".file";
  constexpr std::string_view kBetween = " \t\r";
  for (size_t at = ptx.find(kDirective); at != std::string_view::npos;
       at = ptx.find(kDirective, at + 1)) {
    const std::string_view line = ptx.substr(at, ptx.find('\n', at) - at);
    if (line.find_first_not_of(kBetween, line.rfind('"') + 1) != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace cccl_cache::standin

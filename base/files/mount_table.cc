// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/mount_table.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/files/whole_file.h"

namespace cccl_cache {
namespace {

/// Replaces the escapes of the mount table, a backslash and three octal digits, by their
/// characters.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || text.size() - at < 4) {
      plain += text[at];
      continue;
    }
    int byte = 0;
    for (int digit = 1; digit <= 3; ++digit) byte = byte * 8 + (text[at + digit] - '0');
    plain += static_cast<char>(byte);
    at += 3;
  }
  return plain;
}

}  // namespace

std::optional<std::vector<MountEntry>> ReadMountTable(int table) {
  if (lseek(table, 0, SEEK_SET) != 0) return std::nullopt;
  const std::optional<std::string> text = ReadAll(table);
  if (!text) return std::nullopt;
  std::vector<MountEntry> mounts;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    // Such a line: 36 35 98:0 /root /point options
    MountEntry mount;
    for (std::string* field :
         {&mount.id, &mount.parent, &mount.device, &mount.root, &mount.point}) {
      const std::string_view word = line.substr(0, line.find(' '));
      *field = Unescaped(word);
      line.remove_prefix(std::min(line.size(), word.size() + 1));
    }
    if (!line.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace cccl_cache

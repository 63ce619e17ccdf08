// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

std::optional<std::string> ReadAll(int file, size_t most) {
  constexpr size_t kUnknownSize = 4096;
  struct stat status {};
  // The size is only a hint: a file may grow, and pipes and kernel files have no size.
  const bool sized = fstat(file, &status) == 0 && status.st_size > 0;
  // One more byte than the size, so that the last read() can report the end of the file.
  const size_t expected = sized ? static_cast<size_t>(status.st_size) + 1 : kUnknownSize;
  std::string bytes(std::min(expected, most), '\0');
  size_t length = 0;
  while (length < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + length, bytes.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    length += static_cast<size_t>(got);
    if (length == bytes.size()) bytes.resize(std::min(2 * length, most));
  }
  bytes.resize(length);
  return bytes;
}

std::optional<std::string> ReadFileAt(const std::string& path, size_t most) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  return ReadAll(file.get(), most);
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace cccl_cache

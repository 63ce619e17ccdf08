// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "base/files/whole_file.h"

namespace cccl_cache {

FileDescriptor OpenRegular(const std::string& path) {
  // If another process opened a named pipe for reading, the pipe's writer would go on.
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return FileDescriptor();
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return FileDescriptor();
  }
  return file;
}

std::optional<std::string> ReadRegular(const std::string& path, size_t most) {
  const FileDescriptor file = OpenRegular(path);
  if (!file.valid()) return std::nullopt;
  return ReadAll(file.get(), most);
}

bool TakesFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

}  // namespace cccl_cache

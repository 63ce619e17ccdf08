// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/directory_job_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {

std::string DirectoryJobFiles::PathOf(const std::string& name) const {
  for (const auto& [visible, directory] : directories_) {
    if (name == visible || name.starts_with(visible + "/")) {
      return directory + name.substr(visible.size());
    }
  }
  return "/nonexistent" + name;
}

Result<FileAnswer> DirectoryJobFiles::Ask(std::string_view name) {
  const FileDescriptor file(open(PathOf(std::string(name)).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0) return FileAnswer{};
  const auto identity =
      identities_.try_emplace({status.st_dev, status.st_ino}, identities_.size() + 1).first;
  if (!S_ISREG(status.st_mode)) return FileAnswer{FileKind::kDirectory, identity->second, nullptr};
  std::string contents(static_cast<size_t>(status.st_size), '\0');
  if (read(file.get(), contents.data(), contents.size()) != status.st_size) return FileAnswer{};
  return FileAnswer{FileKind::kFile, identity->second,
                    std::make_shared<const std::string>(std::move(contents))};
}

}  // namespace cccl_cache::daemon

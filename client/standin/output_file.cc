// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/files/file_descriptor.h"
#include "base/files/file_size_limit.h"
#include "base/files/whole_file.h"

namespace cccl_cache {
namespace {

/// Returns whether the assembler and the linker write to this path without removing it first: if it
/// is an empty file, or leads to one or to none.
bool IsWrittenInPlace(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return false;
  return stat(path.c_str(), &status) != 0 || (S_ISREG(status.st_mode) && status.st_size == 0);
}

}  // namespace

bool WriteOutput(const std::string& path, std::string_view contents, bool replaced,
                 bool executable) {
  if (!MayMakeFile(contents.size())) return false;
  const mode_t mode = executable ? 0777 : 0666;
  if (!replaced || IsWrittenInPlace(path)) {
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    return file.valid() && WriteAll(file.get(), contents);
  }
  // A build system must not find a part of an object if this process is killed.
  const std::string draft = path + ".cccl-cache-" + std::to_string(getpid());
  const FileDescriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.valid()) return false;
  if (WriteAll(file.get(), contents) && rename(draft.c_str(), path.c_str()) == 0) return true;
  unlink(draft.c_str());
  return false;
}

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/scratch_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/worker/files/refused_memory.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxFiles = 16;

FileDescriptor MakeFile() {
  return FileDescriptor(memfd_create("scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

}  // namespace

std::vector<FileDescriptor> ScratchFiles::MakeAhead(size_t count) {
  std::vector<FileDescriptor> made;
  for (size_t i = 0; i < count; ++i) made.push_back(MakeFile());
  return made;
}

FileDescriptor ScratchFiles::Make() {
  if (made_.empty()) {
    FileDescriptor file = MakeFile();
    if (!file.valid()) RefusedMemory::Note();
    return file;
  }
  FileDescriptor file = std::move(made_.back());
  made_.pop_back();
  return file;
}

bool ScratchFiles::Owns(std::string_view path) {
  constexpr std::string_view kBeginning = "/tmp/edg";
  if (!path.starts_with(kBeginning)) return false;
  path.remove_prefix(kBeginning.size());
  return !path.empty() && path[0] >= '0' && path[0] <= '9' && path.find('/') == path.npos;
}

int ScratchFiles::Open(const std::string& path, int flags) {
  auto file = files_.find(path);
  if (file == files_.end()) {
    if ((flags & O_CREAT) == 0) return -ENOENT;
    if (files_.size() >= kMaxFiles) return -ENOSPC;
    FileDescriptor memory = Make();
    if (!memory.valid()) return -errno;
    file = files_.emplace(path, std::move(memory)).first;
  } else if ((flags & O_EXCL) != 0) {
    return -EEXIST;
  }
  const int memory = file->second.get();
  if ((flags & O_TRUNC) != 0 && ftruncate(memory, 0) != 0) return -errno;
  if (lseek(memory, 0, (flags & O_APPEND) != 0 ? SEEK_END : SEEK_SET) < 0) return -errno;
  const int opened = fcntl(memory, F_DUPFD_CLOEXEC, 0);
  return opened < 0 ? -errno : opened;
}

}  // namespace cccl_cache::daemon

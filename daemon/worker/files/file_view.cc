// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/file_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/files/paths.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

using Verdict = TrustedDirectories::Verdict;

bool Writes(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | O_APPEND)) != 0;
}

/// Returns the directory that contains the last component of a path. If that component is "..",
/// returns the path itself.
std::string DirectoryOf(const std::string& path) {
  if (path.ends_with("/..")) return path;
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Returns whether a name can only mean a directory: the kernel refuses such a name for a file.
bool NamesDirectory(std::string_view name) { return name.ends_with('/') || name.ends_with("/."); }

}  // namespace

FileView::FileView(const WorkerJob& job, std::vector<std::string> trusted_directories,
                   Others others)
    : paths_(job),
      bundled_(others.bundled),
      header_directories_(trusted_directories),
      asked_(others.asked),
      pch_(others.pch),
      trusted_([&] {
        for (const WorkerJob::MountPoint& mount : job.mounts) {
          trusted_directories.emplace_back(mount.target);
        }
        return std::move(trusted_directories);
      }()),
      scratch_(std::move(others.scratch)) {}

bool FileView::IsAsked(const std::string& path) {
  return !trusted_.ContainAllTheWay(path) ||
         trusted_.Judge(DirectoryOf(path)) == Verdict::kElsewhere;
}

FileAnswer FileView::Ask(const std::string& visible) {
  return asked_ != nullptr ? asked_->Ask(visible) : FileAnswer{};
}

FileView::Opened FileView::OpenAsked(const std::string& visible) {
  FileAnswer answer = Ask(visible);
  if (answer.kind == FileKind::kAbsent) return -ENOENT;
  return answer;
}

int FileView::StatAsked(const std::string& visible, struct stat* status) {
  const FileAnswer answer = Ask(visible);
  switch (answer.kind) {
    case FileKind::kFile:
      *status = made_up_status::File(answer.identity, answer.contents->size());
      return 0;
    case FileKind::kDirectory:
      *status = made_up_status::OutsideDirectory(answer.identity);
      return 0;
    case FileKind::kAbsent:
    case FileKind::kToolchain:  // not an answer to a question
      break;
  }
  // A process always has a working directory. The client may have none of this name.
  if (visible != paths_.working_directory()) return -ENOENT;
  *status = made_up_status::Directory(1);
  return 0;
}

bool FileView::Announce(const VisiblePaths::Path& path) {
  if (asked_ == nullptr) return true;
  std::string_view top = path.mount;
  if (top.empty()) {
    for (const std::string& directory : header_directories_) {
      if (directory.size() > top.size() && LiesIn(path.path, directory)) top = directory;
    }
  }
  return asked_->LookInToolchain(EntryOf(path.visible, top));
}

int FileView::OpenOwn(const std::string& path, int directory) {
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | directory;
  if (trusted_.Judge(DirectoryOf(path)) == Verdict::kAbsent) return -ENOENT;
  const int direct = real_files::Open(path.c_str(), flags | O_NOFOLLOW, 0);
  if (direct != -ELOOP) return direct;
  FileDescriptor target(real_files::Open(path.c_str(), flags, 0));
  if (!target.valid() || IsNeverRead(real_files::PathOf(target.get()))) return -ENOENT;
  return target.Release();
}

std::optional<FileAnswer> FileView::FindBundled(std::string_view name) const {
  if (bundled_ == nullptr) return std::nullopt;
  const std::string path = VisiblePath(name);
  if (!BundledHeaders::Own(path)) return std::nullopt;
  return bundled_->Find(path);
}

FileView::Opened FileView::OpenAny(std::string_view name, int flags) {
  if (auto bundled = FindBundled(name)) {
    if (bundled->kind == FileKind::kAbsent || Writes(flags)) return -ENOENT;
    if (bundled->kind == FileKind::kFile && NamesDirectory(name)) return -ENOTDIR;
    return *std::move(bundled);
  }
  const VisiblePaths::Place place = paths_.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  if (path == nullptr) return -ENOENT;
  const MutexLock lock(mutex_);
  if (path->visible == kPchName) return pch_ != nullptr ? pch_->Open(flags) : -ENOENT;
  if (ScratchFiles::Owns(path->path)) return scratch_.Open(path->path, flags);
  if (Writes(flags)) return -ENOENT;
  if (path->made_up) opened_.insert(path->visible);
  const bool directory = NamesDirectory(name);
  if (!IsAsked(path->path)) {
    return Announce(*path) ? OpenOwn(path->path, directory ? O_DIRECTORY : 0) : -ENOENT;
  }
  Opened opened = OpenAsked(path->visible);
  const auto* answer = std::get_if<FileAnswer>(&opened);
  if (directory && answer != nullptr && answer->kind == FileKind::kFile) return -ENOTDIR;
  return opened;
}

int FileView::Open(std::string_view name, int flags) {
  const Opened opened = OpenAny(name, flags);
  if (const int* fd = std::get_if<int>(&opened)) return *fd;
  const FileAnswer& answer = *std::get_if<FileAnswer>(&opened);
  if (answer.kind != FileKind::kFile) return -EISDIR;
  const MutexLock lock(mutex_);
  return OpenInMemory(scratch_.Make(), *answer.contents);
}

// Opens the file for its status, because a sandboxed process can't call stat with a name.
int FileView::StatOwn(const std::string& path, struct stat* status) {
  const FileDescriptor file(OpenOwn(path, 0));
  return file.valid() ? real_files::Stat(file.get(), status) : -ENOENT;
}

int FileView::Stat(std::string_view name, struct stat* status) {
  const int answer = StatAny(name, status);
  if (answer == 0 && NamesDirectory(name) && !S_ISDIR(status->st_mode)) return -ENOTDIR;
  return answer;
}

int FileView::StatAny(std::string_view name, struct stat* status) {
  if (const auto bundled = FindBundled(name)) {
    if (bundled->kind == FileKind::kAbsent) return -ENOENT;
    *status = made_up_status::Bundled(*bundled);
    return 0;
  }
  const VisiblePaths::Place place = paths_.Find(name);
  if (const auto* directory = std::get_if<VisiblePaths::Directory>(&place)) {
    *status = made_up_status::Directory(directory->inode);
    return 0;
  }
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  if (path == nullptr) return -ENOENT;
  const MutexLock lock(mutex_);
  if (path->visible == kPchName) {
    return pch_ != nullptr ? pch_->Stat(status) : -ENOENT;
  }
  if (ScratchFiles::Owns(path->path)) {
    const FileDescriptor file(scratch_.Open(path->path, O_RDONLY));
    if (!file.valid()) return -ENOENT;
    return real_files::Stat(file.get(), status);
  }
  if (path->made_up && !opened_.contains(path->visible)) return -ENOENT;
  if (IsAsked(path->path)) return StatAsked(path->visible, status);
  return Announce(*path) ? StatOwn(path->path, status) : -ENOENT;
}

int FileView::OpenDirectory(std::string_view name) {
  const VisiblePaths::Place place = paths_.Find(name);
  std::string path;
  if (const auto* directory = std::get_if<VisiblePaths::Directory>(&place)) {
    path = directory->target;
  } else if (const auto* found = std::get_if<VisiblePaths::Path>(&place)) {
    path = found->path;
  }
  // Without access to the disk, a path with ".." does not show which directory it means.
  if (path.empty() || GoesUp(path)) return -ENOENT;
  const MutexLock lock(mutex_);
  if (!trusted_.Contain(path)) return -ENOENT;
  if (asked_ != nullptr && !asked_->LookInToolchain(VisiblePath(name))) return -ENOENT;
  if (trusted_.Judge(path) != Verdict::kTrusted) return -ENOENT;
  return real_files::Open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int FileView::Remove(std::string_view name) {
  const VisiblePaths::Place place = paths_.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  const MutexLock lock(mutex_);
  if (path != nullptr && path->visible == kPchName) return -ENOENT;
  if (path == nullptr || !ScratchFiles::Owns(path->path)) return -EACCES;
  scratch_.Remove(path->path);
  return 0;
}

void* FileView::Map(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  if ((flags & MAP_TYPE) != MAP_PRIVATE || protection != (PROT_READ | PROT_WRITE)) {
    errno = EACCES;
    return MAP_FAILED;
  }
  const MutexLock lock(mutex_);
  if ((flags & MAP_FIXED) != 0 && pch_ != nullptr && pch_->MoveTo(address, length, fd, offset)) {
    return address;
  }
  void* const memory = real_files::Map(address, length, protection, flags | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return MAP_FAILED;
  for (size_t done = 0; done < length;) {
    const ssize_t part = pread(fd, static_cast<char*>(memory) + done, length - done,
                               offset + static_cast<off_t>(done));
    if (part < 0 && errno == EINTR) continue;
    if (part == 0) break;  // zeros follow the end of a file
    if (part < 0) {
      munmap(memory, length);
      return MAP_FAILED;
    }
    done += static_cast<size_t>(part);
  }
  return memory;
}

std::string FileView::VisiblePath(std::string_view name) const {
  return LexicallyNormal(paths_.Absolute(name));
}

}  // namespace cccl_cache::daemon

namespace cccl_cache::daemon::made_up_status {
namespace {

/// Device numbers in made-up statuses. No real file system may have them.
constexpr dev_t kDirectories = 1;
constexpr dev_t kOutside = 2;
constexpr dev_t kBundled = 3;
constexpr off_t kBlock = 4096;

struct stat Make(dev_t device, uint64_t inode, mode_t mode, uint64_t size) {
  struct stat status {};
  status.st_dev = device;
  status.st_ino = inode;
  status.st_mode = mode;
  status.st_nlink = S_ISDIR(mode) ? 2 : 1;
  status.st_size = static_cast<off_t>(size);
  status.st_blksize = kBlock;
  status.st_blocks = (status.st_size + 511) / 512;
  status.st_mtim.tv_sec = 1;
  status.st_ctim.tv_sec = 1;
  status.st_atim.tv_sec = 1;
  return status;
}

}  // namespace

struct stat Directory(uint64_t inode) {
  return Make(kDirectories, inode, S_IFDIR | 0755, kBlock);
}

struct stat OutsideDirectory(uint64_t identity) {
  return Make(kOutside, identity, S_IFDIR | 0755, kBlock);
}

struct stat File(uint64_t identity, uint64_t size) {
  return Make(kOutside, identity, S_IFREG | 0644, size);
}

struct stat Bundled(const FileAnswer& answer) {
  if (answer.kind == FileKind::kDirectory) {
    return Make(kBundled, answer.identity, S_IFDIR | 0755, kBlock);
  }
  return Make(kBundled, answer.identity, S_IFREG | 0644, answer.contents->size());
}

}  // namespace cccl_cache::daemon::made_up_status

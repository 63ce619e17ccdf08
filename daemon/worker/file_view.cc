// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/file_view.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/core/file_descriptor.h"
#include "daemon/worker/lexical_path.h"
#include "daemon/worker/made_up_status.h"
#include "daemon/worker/memory_file.h"
#include "daemon/worker/real_files.h"

namespace cccl_cached {
namespace {

using Answer = OutsideFile::Answer;
using Verdict = TrustedDirectories::Verdict;

constexpr std::string_view kNeverGiven[] = {"/proc", "/sys", "/dev"};

bool IsNeverGiven(std::string_view path) {
  return std::ranges::any_of(kNeverGiven,
                             [&](std::string_view directory) { return LiesIn(path, directory); });
}

bool Writes(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | O_APPEND)) != 0;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The directory in which a path's last step is taken.
std::string DirectoryOf(const std::string& path) {
  return path.ends_with("/..") ? path : ParentOf(path);
}

}  // namespace

FileView::FileView(const WorkerJob& job, std::vector<std::string> trusted_directories,
                   FileClient* files)
    : paths_(job,
             files != nullptr ? VisiblePaths::Outside::kAsks : VisiblePaths::Outside::kLooksUp),
      outside_files_allowed_(job.outside_files_allowed),
      files_(files),
      trusted_([&] {
        for (const WorkerJob::MountPoint& mount : job.mounts) {
          if (mount.trusted) trusted_directories.emplace_back(mount.target);
        }
        return std::move(trusted_directories);
      }()) {}

int FileView::Deny(const std::string& path) {
  if (files_ == nullptr) record_.Add(path, Answer::kDenied);
  return -ENOENT;
}

bool FileView::IsAsked(const std::string& path) {
  return files_ != nullptr && (!trusted_.ContainAllTheWay(path) ||
                               trusted_.Judge(DirectoryOf(path)) == Verdict::kElsewhere);
}

FileView::Opened FileView::OpenAsked(const std::string& visible) {
  const FileAnswer& answer = files_->Ask(visible);
  if (answer.kind == FileKind::kAbsent) return -ENOENT;
  return answer;
}

int FileView::StatAsked(const std::string& visible, struct stat* status) {
  const FileAnswer& answer = files_->Ask(visible);
  switch (answer.kind) {
    case FileKind::kFile:
      *status = made_up_status::File(answer.identity, answer.contents->size());
      return 0;
    case FileKind::kDirectory:
      *status = made_up_status::OutsideDirectory(answer.identity);
      return 0;
    case FileKind::kAbsent:
      break;
  }
  // A process is somewhere, also where the client has no directory of that name.
  if (visible != paths_.working_directory()) return -ENOENT;
  *status = made_up_status::Directory(1);
  return 0;
}

int FileView::OpenOwn(const std::string& path, int flags) {
  switch (trusted_.Judge(DirectoryOf(path))) {
    case Verdict::kAbsent:
      return -ENOENT;
    case Verdict::kElsewhere:
      return OpenOutside(path);
    case Verdict::kTrusted:
      break;
  }
  const int direct = real_files::Open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0);
  if (direct == -ENOENT || direct == -ENOTDIR) return direct;
  // Opening a symlink this way is ELOOP, or with O_PATH gives the link itself.
  struct stat status;
  if (direct >= 0 &&
      ((flags & O_PATH) == 0 ||
       (real_files::StatAt(direct, "", &status, AT_EMPTY_PATH) == 0 && !S_ISLNK(status.st_mode)))) {
    return direct;
  }
  const FileDescriptor link(direct);
  FileDescriptor file(real_files::Open(path.c_str(), O_PATH | O_CLOEXEC, 0));
  if (!file.valid()) return -ENOENT;
  if (IsNeverGiven(real_files::PathOf(file.get()))) return Deny(path);
  return real_files::Reopen(file.get(), flags);
}

int FileView::OpenOutside(const std::string& path) {
  if (!outside_files_allowed_ || IsNeverGiven(LexicallyNormal(path))) return Deny(path);
  // O_PATH first: to open a FIFO or a device has effects.
  const FileDescriptor file(real_files::Open(path.c_str(), O_PATH | O_CLOEXEC, 0));
  if (!file.valid()) {
    record_.Add(path, Answer::kAbsent);
    return -ENOENT;
  }
  const std::string real_path = real_files::PathOf(file.get());
  struct stat status;
  if (real_path.empty() || IsNeverGiven(real_path) ||
      real_files::StatAt(file.get(), "", &status, AT_EMPTY_PATH) != 0 ||
      !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
    return Deny(path);
  }
  const int readable = real_files::Reopen(file.get(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (readable < 0) return Deny(real_path);
  record_.Add(real_path, Answer::kGiven);
  return readable;
}

int FileView::OpenPath(const std::string& path, int flags) {
  const std::string normal = LexicallyNormal(path);
  if (!trusted_.Contain(normal)) return OpenOutside(path);
  return OpenOwn(path, flags);
}

FileView::Opened FileView::OpenAny(std::string_view name, int flags) {
  const VisiblePaths::Place place = paths_.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  if (path == nullptr) return -ENOENT;
  const std::lock_guard lock(mutex_);
  if (ScratchFiles::Owns(path->path)) return scratch_.Open(path->path, flags);
  if (Writes(flags)) return Deny(path->path);
  if (IsAsked(path->path)) return OpenAsked(path->visible);
  return OpenPath(path->path, O_RDONLY);
}

int FileView::Open(std::string_view name, int flags) {
  const Opened opened = OpenAny(name, flags);
  if (const int* fd = std::get_if<int>(&opened)) return *fd;
  const FileAnswer& answer = *std::get_if<FileAnswer>(&opened);
  return answer.kind == FileKind::kFile ? OpenInMemory(*answer.contents) : -EISDIR;
}

int FileView::StatPath(const std::string& path, struct stat* status) {
  // The toolchain's own headers make up nearly all calls: one system call for each of these.
  if (trusted_.Contain(LexicallyNormal(path)) && path.find("/..") == std::string::npos) {
    const Verdict verdict = trusted_.Judge(ParentOf(path));
    if (verdict == Verdict::kAbsent) return -ENOENT;
    if (verdict == Verdict::kTrusted) {
      const int answer = real_files::StatAt(AT_FDCWD, path.c_str(), status, AT_SYMLINK_NOFOLLOW);
      if (answer != 0) return -ENOENT;
      if (!S_ISLNK(status->st_mode)) return 0;
    }
  }
  const FileDescriptor file(OpenPath(path, O_PATH));
  if (!file.valid()) return -ENOENT;
  return real_files::StatAt(file.get(), "", status, AT_EMPTY_PATH);
}

int FileView::Stat(std::string_view name, struct stat* status) {
  const VisiblePaths::Place place = paths_.Find(name);
  if (const auto* directory = std::get_if<VisiblePaths::Directory>(&place)) {
    *status = made_up_status::Directory(directory->inode);
    return 0;
  }
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  if (path == nullptr) return -ENOENT;
  const std::lock_guard lock(mutex_);
  if (ScratchFiles::Owns(path->path)) {
    const FileDescriptor file(scratch_.Open(path->path, O_RDONLY));
    if (!file.valid()) return -ENOENT;
    return real_files::StatAt(file.get(), "", status, AT_EMPTY_PATH);
  }
  if (IsAsked(path->path)) return StatAsked(path->visible, status);
  return StatPath(path->path, status);
}

int FileView::OpenDirectory(std::string_view name) {
  const VisiblePaths::Place place = paths_.Find(name);
  std::string path;
  if (const auto* directory = std::get_if<VisiblePaths::Directory>(&place)) {
    path = directory->target;
  } else if (const auto* found = std::get_if<VisiblePaths::Path>(&place)) {
    path = found->path;
  }
  if (path.empty()) return -ENOENT;
  const std::lock_guard lock(mutex_);
  if (!trusted_.Contain(LexicallyNormal(path))) return Deny(path);
  switch (trusted_.Judge(path)) {
    case Verdict::kAbsent:
      return -ENOENT;
    case Verdict::kElsewhere:
      return Deny(path);
    case Verdict::kTrusted:
      break;
  }
  return real_files::Open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int FileView::Remove(std::string_view name) {
  const VisiblePaths::Place place = paths_.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  const std::lock_guard lock(mutex_);
  if (path == nullptr || !ScratchFiles::Owns(path->path)) return -EACCES;
  scratch_.Remove(path->path);
  return 0;
}

std::string FileView::VisiblePath(std::string_view name) const {
  return LexicallyNormal(paths_.Absolute(name));
}

std::vector<OutsideFile> FileView::outside() const {
  const std::lock_guard lock(mutex_);
  return record_.files();
}

}  // namespace cccl_cached

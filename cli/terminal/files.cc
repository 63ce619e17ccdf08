// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"

namespace cccl_cache::cli {
namespace {

Error Failed(const char* what, const std::string& path) {
  return {CCCL_CACHE_UNAVAILABLE,
          std::string("can't ") + what + " " + path + ": " + strerror(errno)};
}

std::string_view LastComponent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Error CantCreate(const std::string& path) { return Failed("create", path); }

/// A file name in an open directory. Because the directory is open, a check and a later use of the
/// name concern the same directory.
struct Place {
  FileDescriptor directory;
  std::string name;
};

/// Opens the directory that contains the file `path`, which is relative to the directory `base`. A
/// symlink in the last component of the path is not followed.
Expected<Place> PlaceOf(int base, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  Place place{FileDescriptor(openat(base, directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
              path.substr(slash == std::string::npos ? 0 : slash + 1)};
  if (!place.directory.valid()) return CantCreate(path);
  // If the path ends in "/", the name is empty. With ".", the system's error says that the path is
  // a directory.
  if (place.name.empty()) place.name = ".";
  return place;
}

/// Returns whether a symlink or pipe may be followed or written to. It may if it was created by
/// root, this user or the owner of the directory. One of another user may be a trap.
bool MayLead(const struct stat& found, int directory) {
  struct stat around {};
  if (found.st_uid == 0 || found.st_uid == geteuid()) return true;
  return fstat(directory, &around) == 0 && found.st_uid == around.st_uid;
}

/// Returns whether the symlink is one in /proc, such as /proc/self/fd/1. Such a link leads to an
/// open file, even if its text is no path of that file.
bool IsOpenFile(int link) {
  struct statfs files {};
  return fstatfs(link, &files) == 0 && files.f_type == PROC_SUPER_MAGIC;
}

std::string TextOf(int link) {
  char text[PATH_MAX];
  const ssize_t size = readlinkat(link, "", text, sizeof(text));
  return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
}

/// The way to write an output file: replace it by a new one, write to the checked file, or write to
/// the open file behind a link in /proc.
enum class Way { kReplace, kWriteTo, kWriteToOpenFile };
struct Target {
  Place place;
  Way way;
  FileDescriptor there;  ///< O_PATH descriptor of the checked file; only with Way::kWriteTo
};

/// Follows trusted symlinks (see MayLead) to the output file. Each link is checked and read through
/// one descriptor, so that it can't be exchanged in between. An untrusted link is not followed, but
/// replaced like a file.
Expected<Target> FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // the kernel's own limit
  Expected<Place> place = PlaceOf(AT_FDCWD, path);
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!place.ok()) return CantCreate(path);
    const int directory = place->directory.get();
    FileDescriptor there(openat(directory, place->name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!there.valid() || fstat(there.get(), &status) != 0 || S_ISREG(status.st_mode)) {
      return Target{*std::move(place), Way::kReplace, {}};
    }
    // Only root can create devices, so a device is always trusted.
    const bool is_device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
    if (!is_device && !MayLead(status, directory)) {
      return Target{*std::move(place), Way::kReplace, {}};
    }
    if (!S_ISLNK(status.st_mode)) {
      return Target{*std::move(place), Way::kWriteTo, std::move(there)};
    }
    if (IsOpenFile(there.get())) return Target{*std::move(place), Way::kWriteToOpenFile, {}};
    place = PlaceOf(directory, TextOf(there.get()));
  }
  errno = ELOOP;
  return CantCreate(path);
}

std::string DraftName() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
    random = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  return ".cccl-cache-" + std::to_string(random);
}

/// Syncs the directory's entries to the disk. The sync of a file does not include its name. Returns
/// false on failure.
bool SyncDirectory(int directory) {
  const FileDescriptor opened(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Two errors are ignored. EACCES: a user who may write but not read the directory can't sync it.
  // EINVAL: the file system does not support the sync of a directory.
  if (!opened.valid()) return errno == EACCES;
  return fsync(opened.get()) == 0 || errno == EINVAL;
}

mode_t WithoutMask(mode_t mode) {
  const mode_t mask = umask(0);
  umask(mask);
  return mode & ~mask;
}

Expected<Done> Replace(const std::string& path, std::string_view contents, OutputFile::Until until,
                       std::optional<mode_t> mode) {
  Expected<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.error();
  if (!WriteAll(file->fd(), contents)) {
    return Failed("write", path == "-" ? "standard output" : path);
  }
  return file->Finish(until, mode);
}

}  // namespace

Expected<std::string> ReadFile(const std::string& path) {
  const bool standard = path == "-";
  std::optional<std::string> bytes = standard ? ReadAll(STDIN_FILENO) : ReadFileAt(path);
  if (!bytes) return Failed("read", standard ? "standard input" : path);
  return *std::move(bytes);
}

Expected<Done> WriteFile(const std::string& path, std::string_view contents) {
  return Replace(path, contents, OutputFile::Until::kInPlace, std::nullopt);
}

Expected<Done> WriteSharedFile(const std::string& path, std::string_view contents) {
  return Replace(path, contents, OutputFile::Until::kOnDisk, 0644);
}

std::string WorkingDirectory() {
  char directory[PATH_MAX];
  return getcwd(directory, sizeof(directory)) == nullptr ? "" : directory;
}

std::string WithExtension(const std::string& path, std::string_view extension) {
  std::string_view stem = LastComponent(path);
  const size_t dot = stem.rfind('.');
  if (dot != std::string_view::npos && dot != 0) stem = stem.substr(0, dot);
  return std::string(stem).append(1, '.').append(extension);
}

std::string_view ExtensionOf(std::string_view path) {
  const std::string_view name = LastComponent(path);
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot + 1);
}

Expected<OutputFile> OutputFile::Create(const std::string& given) {
  OutputFile made(given);
  if (given == "-") return made;
  Expected<Target> target = FollowLinks(given);
  if (!target.ok()) return target.error();
  made.directory_ = std::move(target->place.directory);
  made.name_ = std::move(target->place.name);
  if (target->way == Way::kReplace) {
    const Expected<Done> begun = made.Begin();
    if (!begun.ok()) return begun.error();
    return made;
  }
  // A pipe or device is not replaced, but written to. It is opened through the checked descriptor,
  // because by now its name may lead to another file.
  constexpr int kExisting = O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC;
  made.file_ = FileDescriptor(
      target->way == Way::kWriteTo
          ? open(("/proc/self/fd/" + std::to_string(target->there.get())).c_str(), kExisting)
          : openat(made.directory_.get(), made.name_.c_str(), kExisting));
  if (!made.file_.valid()) return CantCreate(given);
  return made;
}

Expected<Done> OutputFile::Begin() {
  constexpr int kNew = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  std::string draft = DraftName();
  file_ = FileDescriptor(openat(directory_.get(), draft.c_str(), kNew, S_IRUSR | S_IWUSR));
  if (file_.valid()) {
    draft_ = std::move(draft);
    return Done{};
  }
  const int cause = errno;
  in_place_ =
      FileDescriptor(openat(directory_.get(), name_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  const bool is_file = fstat(in_place_.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_file) file_ = FileDescriptor(memfd_create("output", MFD_CLOEXEC));
  if (file_.valid()) return Done{};
  errno = cause;
  return CantCreate(path_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(other.path_),
      directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      draft_(std::exchange(other.draft_, "")),
      file_(std::move(other.file_)),
      in_place_(std::move(other.in_place_)) {}

OutputFile::~OutputFile() {
  if (!draft_.empty()) unlinkat(directory_.get(), draft_.c_str(), 0);
}

int OutputFile::fd() const { return file_.valid() ? file_.get() : STDOUT_FILENO; }

Expected<Done> OutputFile::Finish(Until until, std::optional<mode_t> mode) {
  const bool on_disk = until == Until::kOnDisk;
  if (in_place_.valid()) {
    const bool done = Overwrite(mode) && (!on_disk || fsync(in_place_.get()) == 0);
    return done ? Expected<Done>(Done{}) : CantCreate(path_);
  }
  if (draft_.empty()) return Done{};
  if (fchmod(file_.get(), mode ? *mode : WithoutMask(0666)) != 0 ||
      (on_disk && fsync(file_.get()) != 0) ||
      renameat(directory_.get(), draft_.c_str(), directory_.get(), name_.c_str()) != 0) {
    return CantCreate(path_);
  }
  draft_.clear();
  if (on_disk && !SyncDirectory(directory_.get())) return CantCreate(path_);
  return Done{};
}

bool OutputFile::Overwrite(std::optional<mode_t> mode) {
  struct stat old {};
  struct stat written {};
  if (fstat(in_place_.get(), &old) != 0 || fstat(file_.get(), &written) != 0) return false;
  // Reserves the space first, so that a full disk leaves the old contents intact. On a file system
  // without reservation, glibc reads and rewrites one byte of each block.
  int cause = written.st_size > 0 ? posix_fallocate(in_place_.get(), 0, written.st_size) : 0;
  if (cause == 0 && mode && fchmod(in_place_.get(), *mode) != 0) cause = errno;
  if (cause != 0) {
    const bool as_before = ftruncate(in_place_.get(), old.st_size) == 0;
    errno = as_before ? cause : errno;
    return false;
  }
  off_t from = 0;
  while (from < written.st_size) {
    const auto left = static_cast<size_t>(written.st_size - from);
    if (sendfile(in_place_.get(), file_.get(), &from, left) <= 0) return false;
  }
  return ftruncate(in_place_.get(), written.st_size) == 0;
}

}  // namespace cccl_cache::cli

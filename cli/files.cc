// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/file_descriptor.h"

namespace cccl_cache::cli {
namespace {

Error Failed(const char* what, const std::string& path) {
  return {CCCL_CACHE_UNAVAILABLE,
          std::string("can't ") + what + " " + path + ": " + strerror(errno)};
}

Expected<std::string> ReadAll(int fd, const std::string& path) {
  struct stat status;
  std::string contents;
  // The size is a hint only: pipes have none, and a file may grow.
  const bool sized = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  contents.resize(sized ? static_cast<size_t>(status.st_size) + 1 : size_t{1} << 16);
  size_t filled = 0;
  while (true) {
    const ssize_t size = read(fd, contents.data() + filled, contents.size() - filled);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failed("read", path);
    if (size == 0) break;
    filled += static_cast<size_t>(size);
    if (filled == contents.size()) contents.resize(contents.size() * 2);
  }
  contents.resize(filled);
  return contents;
}

Expected<Done> WriteAll(int fd, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t size = write(fd, contents.data(), contents.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failed("write", path);
    contents.remove_prefix(static_cast<size_t>(size));
  }
  return Done{};
}

std::string_view LastComponent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Error CantCreate(const std::string& path) {
  return {CCCL_CACHE_UNAVAILABLE, "can't create " + path + ": " + std::strerror(errno)};
}

// Returns the target of a link, so that the link stays and its target is replaced; else the path
// itself.
std::string BehindLinks(const std::string& path) {
  struct stat there;
  if (lstat(path.c_str(), &there) != 0 || !S_ISLNK(there.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr),
                                                           &std::free);
  return target == nullptr ? path : target.get();
}

/// Puts the name on the disk too, which the file's own sync does not.
bool SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const FileDescriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A user who may write but not read the directory can't sync it; some file systems don't support
  // it.
  if (!opened.valid()) return errno == EACCES;
  return fsync(opened.get()) == 0 || errno == EINVAL;
}

Expected<Done> Replace(const std::string& path, std::string_view contents, OutputFile::Until until,
                       std::optional<mode_t> mode) {
  Expected<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.error();
  Expected<Done> written = WriteAll(file->fd(), contents, path == "-" ? "standard output" : path);
  return written.ok() ? file->Finish(until, mode) : written;
}

}  // namespace

Expected<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input");
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Failed("read", path);
  return ReadAll(file.get(), path);
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
  if (given == "-") return OutputFile(given, "", -1);
  const std::string path = BehindLinks(given);
  struct stat there;
  if (lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    // A pipe, a device: what was put in its place would not be what it is.
    const int in_place = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (in_place < 0) return CantCreate(path);
    return OutputFile(path, "", in_place);
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return CantCreate(path);
  return OutputFile(path, std::move(temporary), fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(other.path_),
      temporary_(std::exchange(other.temporary_, "")),
      file_(std::move(other.file_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

int OutputFile::fd() const { return file_.valid() ? file_.get() : STDOUT_FILENO; }

Expected<Done> OutputFile::Finish(Until until, std::optional<mode_t> mode) {
  if (temporary_.empty()) return Done{};
  const bool on_disk = until == Until::kOnDisk;
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(file_.get(), mode.value_or(0666 & ~mask)) != 0 ||
      (on_disk && fsync(file_.get()) != 0) || rename(temporary_.c_str(), path_.c_str()) != 0) {
    return CantCreate(path_);
  }
  temporary_.clear();
  if (on_disk && !SyncDirectoryOf(path_)) return CantCreate(path_);
  return Done{};
}

}  // namespace cccl_cache::cli

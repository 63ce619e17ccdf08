// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace cccl_cache::cli {
namespace {

Error CantCreate(const std::string& path) {
  return {CCCL_CACHE_UNAVAILABLE, "can't create " + path + ": " + std::strerror(errno)};
}

// What a link leads to, so that the link stays and its target is replaced; else the path itself.
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
  // Who may write to it but not read it can do no more; some file systems know no such thing.
  if (!opened.valid()) return errno == EACCES;
  return fsync(opened.get()) == 0 || errno == EINVAL;
}

}  // namespace

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

Expected<Done> OutputFile::Finish(Until until) {
  if (temporary_.empty()) return Done{};
  const bool on_disk = until == Until::kOnDisk;
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(file_.get(), 0666 & ~mask) != 0 || (on_disk && fsync(file_.get()) != 0) ||
      rename(temporary_.c_str(), path_.c_str()) != 0) {
    return CantCreate(path_);
  }
  temporary_.clear();
  if (on_disk && !SyncDirectoryOf(path_)) return CantCreate(path_);
  return Done{};
}

}  // namespace cccl_cache::cli

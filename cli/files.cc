// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "cli/file_descriptor.h"

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

Expected<Done> WriteInPlace(const std::string& path, std::string_view contents) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) return Failed("write", path);
  return WriteAll(file.get(), contents, path);
}

Expected<Done> Replace(const std::string& path, std::string_view contents) {
  std::string temporary = path + ".XXXXXX";
  const FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return Failed("create", path);
  const mode_t mask = umask(0);
  umask(mask);
  Expected<Done> written = WriteAll(file.get(), contents, path);
  if (written.ok() &&
      (fchmod(file.get(), 0666 & ~mask) != 0 || rename(temporary.c_str(), path.c_str()) != 0)) {
    written = Failed("create", path);
  }
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

std::string_view LastComponent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

Expected<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input");
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Failed("read", path);
  return ReadAll(file.get(), path);
}

Expected<Done> WriteFile(const std::string& path, std::string_view contents) {
  if (path == "-") return WriteAll(STDOUT_FILENO, contents, "standard output");
  struct stat status;
  const bool present = lstat(path.c_str(), &status) == 0;
  if (present && !S_ISREG(status.st_mode)) return WriteInPlace(path, contents);
  return Replace(path, contents);
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

}  // namespace cccl_cache::cli

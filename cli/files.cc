// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "cli/file_descriptor.h"
#include "cli/output_file.h"

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

}  // namespace

Expected<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input");
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Failed("read", path);
  return ReadAll(file.get(), path);
}

Expected<Done> WriteFile(const std::string& path, std::string_view contents) {
  Expected<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.error();
  Expected<Done> written = WriteAll(file->fd(), contents, path == "-" ? "standard output" : path);
  return written.ok() ? file->Finish(OutputFile::Until::kInPlace) : written;
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

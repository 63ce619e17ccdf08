// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/toolchain_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

/// The smallest identity of the toolchain's files. The identities of other files begin at 1 and
/// stay below it.
constexpr uint64_t kFirstIdentity = 1ull << 40;
/// Limit of a header in bytes, above the size of any in a toolchain.
constexpr off_t kMaxHeaderBytes = 64 << 20;

Error CannotRead(const std::string& path, int error) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("reading the toolchain's {}: {}", path, strerror(error))};
}

/// Returns whether the path lies in the toolchain, and so does each part of it that ends before or
/// after a "..". Symlinks are not followed. TrustedDirectories::ContainAllTheWay checks the same in
/// a worker with Landlock.
bool LiesInAllTheWay(const ToolchainPlaces& places, std::string_view path) {
  const auto lies_in = [&](std::string_view part) {
    const std::string normal = fs::path(part).lexically_normal().string();
    return places.LieIn(normal.ends_with('/') ? normal.substr(0, normal.size() - 1) : normal);
  };
  constexpr std::string_view kUp = "/..";
  for (size_t up = path.find(kUp); up != std::string_view::npos; up = path.find(kUp, up + 1)) {
    const size_t end = up + kUp.size();
    if (end != path.size() && path[end] != '/') continue;  // a name such as "/..hidden"
    if (!lies_in(path.substr(0, up)) || !lies_in(path.substr(0, end))) return false;
  }
  return lies_in(path);
}

}  // namespace

ToolchainFiles::ToolchainFiles(const CompileJob& job)
    : places_(job.toolchain, job.mounts), others_(job.files) {}

Result<FileAnswer> ToolchainFiles::Ask(std::string_view name) {
  if (const std::optional<std::string> path = PathOf(name)) {
    const std::string announced = places_.AnnouncedFor(name);
    const Status noted = announced.empty() ? Status(Ok{}) : LookInToolchain(announced);
    if (!noted) return noted.error();
    return path->empty() ? FileAnswer{} : Read(*path);
  }
  if (others_ != nullptr) return others_->Ask(name);
  return FileAnswer{};
}

Status ToolchainFiles::LookInToolchain(std::string_view name) {
  return others_ == nullptr ? Status(Ok{}) : others_->LookInToolchain(name);
}

std::optional<std::string> ToolchainFiles::PathOf(std::string_view name) const {
  // Checked first: the daemon must not open other files with its own rights.
  std::optional<std::string> path = places_.PathOf(name);
  if (!path || !GoesUp(*path)) return path;
  if (!LiesInAllTheWay(places_, *path)) return std::nullopt;
  // After a symlink, ".." may lead elsewhere than the text of the path shows. No other user can
  // change symlinks in the toolchain between this check and the read.
  std::error_code error;
  const std::string real = fs::canonical(*path, error).string();
  if (!error) return places_.LieIn(real) ? std::optional(real) : std::nullopt;
  // The file does not exist. The name is outside the toolchain only if its directory is.
  const std::string directory = fs::canonical(fs::path(*path).parent_path(), error).string();
  return error || places_.LieIn(directory) ? std::optional(std::string()) : std::nullopt;
}

Result<FileAnswer> ToolchainFiles::Read(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() && errno != EACCES && errno != EMFILE && errno != ENFILE && errno != EIO) {
    return FileAnswer{};
  }
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0) return CannotRead(path, errno);
  const std::pair<uint64_t, uint64_t> inode(status.st_dev, status.st_ino);
  if (S_ISDIR(status.st_mode)) return FileAnswer{FileKind::kDirectory, IdentityOf(inode), nullptr};
  if (!S_ISREG(status.st_mode)) return FileAnswer{};
  if (status.st_size > kMaxHeaderBytes) return CannotRead(path, EFBIG);
  std::optional<std::string> contents = ReadAll(file.get(), static_cast<size_t>(status.st_size));
  if (!contents) return CannotRead(path, errno);
  return FileAnswer{FileKind::kFile, IdentityOf(inode),
                    std::make_shared<const std::string>(*std::move(contents))};
}

uint64_t ToolchainFiles::IdentityOf(std::pair<uint64_t, uint64_t> inode) {
  return identities_.try_emplace(inode, kFirstIdentity + identities_.size()).first->second;
}

}  // namespace cccl_cache::daemon

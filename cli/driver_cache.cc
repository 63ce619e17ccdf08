// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/boot_id.h"
#include "base/file_descriptor.h"
#include "base/own_path.h"

namespace cccl_cache::cli {
namespace {

/// Maximum size of the file in bytes; larger than any library path in use.
constexpr size_t kMaxBytes = 16 << 10;
constexpr const char* kFile = "driver";

/// The first bytes of a file, up to kMaxBytes; empty if there is none.
std::string Beginning(const FileDescriptor& file) {
  std::string contents(kMaxBytes, '\0');
  const ssize_t got = file.valid() ? read(file.get(), contents.data(), contents.size()) : 0;
  contents.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return contents;
}

std::string Beginning(const char* path) {
  return Beginning(FileDescriptor(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
}

std::string_view Variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

/// Opens a directory that only this user and root can write. Returns an invalid descriptor for any
/// other: other users must not influence which library this user's programs load.
FileDescriptor OpenOwnDirectory(const std::string& path) {
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found = {};
  const bool own = directory.valid() && fstat(directory.get(), &found) == 0 &&
                   found.st_uid == geteuid() && (found.st_mode & 022) == 0;
  return own ? std::move(directory) : FileDescriptor(-1);
}

std::string Mounts() {
  std::array<char, 64> name{};
  const ssize_t size = readlink("/proc/self/ns/mnt", name.data(), name.size());
  return {name.data(), size > 0 ? static_cast<size_t>(size) : 0};
}

/// Returns the identity of the file in its present state.
std::string Stamp(const char* path) {
  struct stat found = {};
  if (stat(path, &found) != 0) return "none ";
  std::string text;
  for (const auto number :
       {static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino),
        static_cast<uint64_t>(found.st_size), static_cast<uint64_t>(found.st_mtim.tv_sec),
        static_cast<uint64_t>(found.st_mtim.tv_nsec)}) {
    text += std::to_string(number) + ' ';
  }
  return text;
}

}  // namespace

DriverMemory DriverMemory::OfThisProcess() {
  const std::string boot = BootId();
  if (boot.empty()) return {{}, {}};
  // In WSL, which has no module of the driver's, that comes from Windows while all runs on.
  const std::string files = Stamp("/etc/ld.so.cache") + Stamp("/usr/lib/wsl/lib/libcuda.so.1");
  return {CacheDirectory(), boot + '\n' + Beginning("/sys/module/nvidia/version") + Mounts() +
                                '\n' + files + '\n' + std::string(Variable("LD_LIBRARY_PATH")) +
                                '\n' + std::string(Variable("LD_PRELOAD"))};
}

uint32_t DriverMemory::Version(const std::function<uint32_t()>& ask) const {
  const bool keeps =
      !directory_.empty() && !surroundings_.empty() && surroundings_.size() < kMaxBytes - 16;
  if (!keeps) return ask();
  if (const uint32_t kept = Kept(); kept != 0) return kept;
  const uint32_t version = ask();
  if (version != 0) Keep(version);
  return version;
}

uint32_t DriverMemory::Kept() const {
  const FileDescriptor directory = OpenOwnDirectory(directory_);
  if (!directory.valid()) return 0;
  const std::string contents = Beginning(FileDescriptor(
      openat(directory.get(), kFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)));
  uint32_t version = 0;
  const char* const end = contents.data() + contents.size();
  const auto [after, error] = std::from_chars(contents.data(), end, version);
  if (error != std::errc() || after == end || *after != '\n') return 0;
  return std::string_view(after + 1, end) == surroundings_ ? version : 0;
}

// If this fails, the next command asks again.
void DriverMemory::Keep(uint32_t version) const {
  MakeLastDirectories(directory_, 2);
  const FileDescriptor directory = OpenOwnDirectory(directory_);
  if (!directory.valid()) return;
  // Under a temporary name until it is complete: another command may be reading or writing the
  // file.
  const std::string draft = kFile + ('.' + std::to_string(getpid()));
  const FileDescriptor file(openat(directory.get(), draft.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return;
  const std::string text = std::to_string(version) + '\n' + surroundings_;
  const bool whole =
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!whole || renameat(directory.get(), draft.c_str(), directory.get(), kFile) != 0) {
    unlinkat(directory.get(), draft.c_str(), 0);
  }
}

}  // namespace cccl_cache::cli

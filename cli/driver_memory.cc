// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "cli/file_descriptor.h"
#include "cli/files.h"

namespace cccl_cache::cli {
namespace {

/// More than a path for libraries has that anybody uses.
constexpr size_t kMaxBytes = 16 << 10;

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
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As the base directory specification has it: a relative one does not count.
std::string Directory() {
  const std::string_view cache = Variable("XDG_CACHE_HOME");
  const std::string_view home = Variable("HOME");
  if (cache.starts_with('/')) return std::string(cache) + "/cccl-cache";
  if (home.starts_with('/')) return std::string(home) + "/.cache/cccl-cache";
  return {};
}

std::string Mounts() {
  std::array<char, 64> name{};
  const ssize_t size = readlink("/proc/self/ns/mnt", name.data(), name.size());
  return {name.data(), size > 0 ? static_cast<size_t>(size) : 0};
}

/// Which libraries ldconfig found, and when.
std::string LibraryCache() {
  struct stat found = {};
  if (stat("/etc/ld.so.cache", &found) != 0) return "none";
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
  const std::string directory = Directory();
  const std::string start = Beginning("/proc/sys/kernel/random/boot_id");
  if (directory.empty() || start.empty()) return {{}, {}};
  return {directory + "/driver", start + Beginning("/sys/module/nvidia/version") + Mounts() + '\n' +
                                     LibraryCache() + '\n' +
                                     std::string(Variable("LD_LIBRARY_PATH"))};
}

uint32_t DriverMemory::Version(const std::function<uint32_t()>& ask) const {
  const bool keeps =
      !path_.empty() && !surroundings_.empty() && surroundings_.size() < kMaxBytes - 16;
  if (!keeps) return ask();
  if (const uint32_t kept = Kept(); kept != 0) return kept;
  const uint32_t version = ask();
  if (version != 0) Keep(version);
  return version;
}

uint32_t DriverMemory::Kept() const {
  const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found = {};
  // Somebody else's word about what this user's programs load is not asked for.
  if (!file.valid() || fstat(file.get(), &found) != 0 || found.st_uid != geteuid()) return 0;
  const std::string contents = Beginning(file);
  uint32_t version = 0;
  const char* const end = contents.data() + contents.size();
  const auto [after, error] = std::from_chars(contents.data(), end, version);
  if (error != std::errc() || after == end || *after != '\n') return 0;
  return std::string_view(after + 1, end) == surroundings_ ? version : 0;
}

void DriverMemory::Keep(uint32_t version) const {
  const std::string directory = path_.substr(0, path_.rfind('/'));
  mkdir(directory.substr(0, directory.rfind('/')).c_str(), 0700);
  mkdir(directory.c_str(), 0700);
  // The next command asks again where this fails.
  static_cast<void>(WriteFile(path_, std::to_string(version) + '\n' + surroundings_));
}

}  // namespace cccl_cache::cli

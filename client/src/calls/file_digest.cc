// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/file_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/file_size_limit.h"
#include "base/file_stamp.h"
#include "base/own_path.h"
#include "proto/component_id.h"

namespace cccl_cache {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxKept = 512;
constexpr std::string_view kBuiltins = "libnvrtc-builtins.so.";

/// Returns the name under which the digest of one file is kept, as
/// client/python/cccl_cache/_plugin/file_digests.py makes it.
std::string NameOf(const StampReader& reader, const ContentStamp& stamp) {
  const std::string text = reader.TextOf(stamp);
  return Sha256("['/']" + DigestOfStamps({&text, 1}).Hex()).Hex();
}

bool OnlyThisUserWrites(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Opens the directory of kept digests; an invalid descriptor if others could change what it holds.
FileDescriptor OpenDirectory() {
  std::string path = CacheDirectory();
  if (path.empty()) return FileDescriptor();
  MakeLastDirectories(path += "/digests", 3);
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (fstat(directory.get(), &status) != 0 || !OnlyThisUserWrites(status)) return FileDescriptor();
  return directory;
}

std::optional<Digest> ReadKept(const FileDescriptor& directory, const std::string& stamp) {
  const FileDescriptor file(
      openat(directory.get(), stamp.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !OnlyThisUserWrites(status)) return std::nullopt;
  char hex[65];
  const ssize_t size = read(file.get(), hex, sizeof(hex));
  return Digest::FromHex(std::string_view(hex, size < 0 ? 0 : static_cast<size_t>(size)));
}

/// Drops the digests that were kept first, if there are too many.
void DropOldest(const FileDescriptor& directory) {
  std::error_code error;
  std::vector<fs::directory_entry> kept;
  const fs::path path = "/proc/self/fd/" + std::to_string(directory.get());
  for (fs::directory_iterator each(path, error), end; !error && each != end;
       each.increment(error)) {
    if (Digest::FromHex(each->path().filename().string())) kept.push_back(*each);
  }
  if (kept.size() <= kMaxKept) return;
  std::ranges::sort(kept, {}, [](const auto& each) {
    std::error_code none;
    return each.last_write_time(none);
  });
  kept.resize(kept.size() - kMaxKept);
  for (const fs::directory_entry& each : kept) {
    unlinkat(directory.get(), each.path().filename().c_str(), 0);
  }
}

void Keep(const FileDescriptor& directory, const std::string& stamp, const Digest& digest) {
  const std::string hex = digest.Hex();
  if (!MayMakeFile(hex.size())) return;
  const std::string draft = "." + stamp + "." + std::to_string(getpid());
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const FileDescriptor file(openat(directory.get(), draft.c_str(), kNew, S_IRUSR | S_IWUSR));
  if (!file.valid()) return;
  const bool written = write(file.get(), hex.data(), hex.size()) == ssize_t(hex.size());
  if (!written || renameat(directory.get(), draft.c_str(), directory.get(), stamp.c_str()) != 0) {
    unlinkat(directory.get(), draft.c_str(), 0);
  }
  DropOldest(directory);
}

std::optional<Digest> DigestOfContents(int file) {
  std::vector<char> chunk(size_t{1} << 20);
  Hasher hasher;
  while (true) {
    const ssize_t size = read(file, chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return hasher.Finish();
    hasher.Append({chunk.data(), static_cast<size_t>(size)});
  }
}

/// Returns the one file that the names of builtins beside libnvrtc lead to; empty if there is none,
/// or more than one.
std::string BuiltinsBeside(const fs::path& library) {
  std::error_code error;
  std::string found;
  for (fs::directory_iterator each(library.parent_path(), error), end; !error && each != end;
       each.increment(error)) {
    if (!each->path().filename().string().starts_with(kBuiltins)) continue;
    const std::string real = fs::canonical(each->path(), error).string();
    if (real.empty() || (!found.empty() && real != found)) return "";
    found = real;
  }
  return found;
}

}  // namespace

std::optional<Digest> StampOfFiles(std::span<const std::string> paths) {
  StampReader reader;
  std::vector<std::string> stamps;
  for (const std::string& path : paths) {
    const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
    const auto read = file.valid() ? reader.Of(file.get()) : std::nullopt;
    if (!read || !read->proves) return std::nullopt;
    stamps.push_back(reader.TextOf(read->stamp));
  }
  return DigestOfStamps(stamps);
}

std::optional<Digest> DigestOfFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  StampReader reader;
  const auto before = file.valid() ? reader.Of(file.get()) : std::nullopt;
  if (!before) return std::nullopt;
  const std::string name = before->proves ? NameOf(reader, before->stamp) : "";
  const FileDescriptor directory = before->proves ? OpenDirectory() : FileDescriptor();
  if (directory.valid()) {
    if (auto kept = ReadKept(directory, name)) return kept;
  }
  const std::optional<Digest> digest = DigestOfContents(file.get());
  const auto after = reader.Of(file.get());
  if (!digest || !after || after->stamp != before->stamp) return std::nullopt;
  if (directory.valid()) Keep(directory, name, *digest);
  return digest;
}

std::vector<std::string> ComponentFilesOf(const std::string& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  if (error) return {};
  if (!real.filename().string().starts_with("libnvrtc.so")) return {real.string()};
  const std::string builtins = BuiltinsBeside(real);
  if (builtins.empty()) return {};
  return {real.string(), builtins};
}

std::optional<Digest> ComponentIdOf(const std::string& library) {
  std::vector<Digest> contents;
  for (const std::string& file : ComponentFilesOf(library)) {
    const std::optional<Digest> digest = DigestOfFile(file);
    if (!digest) return std::nullopt;
    contents.push_back(*digest);
  }
  if (contents.empty()) return std::nullopt;
  return ComponentId(contents[0], contents.size() > 1 ? std::optional(contents[1]) : std::nullopt);
}

}  // namespace cccl_cache

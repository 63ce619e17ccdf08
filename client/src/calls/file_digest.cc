// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/file_digest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
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
constexpr std::string_view kNvrtcLibrary = "libnvrtc.so";
constexpr std::string_view kBuiltins = "libnvrtc-builtins.so.";

/// Returns the name under which the digest of a file with this stamp is kept, as
/// client/python/cccl_cache/_plugin/file_digests.py makes it.
std::string NameOf(const std::string& stamp) {
  return Sha256("['/']" + DigestOfStamps({&stamp, 1}).Hex()).Hex();
}

bool OnlyThisUserWrites(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Opens the directory of kept digests; an invalid descriptor if others could change its files.
/// `make`: makes it if it is not there.
FileDescriptor OpenDirectory(bool make) {
  std::string path = CacheDirectory();
  if (path.empty()) return FileDescriptor();
  path += "/digests";
  const auto open_it = [&] {
    return FileDescriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  };
  FileDescriptor directory = open_it();
  if (make && !directory.valid()) {
    MakeLastDirectories(path, 3);
    directory = open_it();
  }
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

/// Digests of files, kept in the user's cache directory under the files' stamps. For one moment, as
/// StampReader is. Not thread-safe.
class Digests {
 public:
  /// Returns the stamp of the file at a path as a text; none if it proves nothing.
  std::optional<std::string> StampOf(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
    const auto read = file.valid() ? stamps_.Of(file.get()) : std::nullopt;
    if (!read || !read->proves) return std::nullopt;
    return stamps_.TextOf(read->stamp);
  }

  /// Returns the digest that was kept under a stamp.
  std::optional<Digest> Kept(const std::string& stamp) {
    if (!directory_) directory_ = OpenDirectory(/*make=*/false);
    return directory_->valid() ? ReadKept(*directory_, NameOf(stamp)) : std::nullopt;
  }

  /// Returns the digest of the file at a path. Reads the file if its digest is not kept.
  std::optional<Digest> Of(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto before = file.valid() ? stamps_.Of(file.get()) : std::nullopt;
    if (!before) return std::nullopt;
    const std::string stamp = stamps_.TextOf(before->stamp);
    if (before->proves) {
      if (auto kept = Kept(stamp)) return kept;
    }
    const std::optional<Digest> digest = DigestOfContents(file.get());
    const auto after = stamps_.Of(file.get());
    if (!digest || !after || after->stamp != before->stamp) return std::nullopt;
    if (!before->proves) return digest;
    if (!directory_->valid()) directory_ = OpenDirectory(/*make=*/true);
    if (directory_->valid()) Keep(*directory_, NameOf(stamp), *digest);
    return digest;
  }

 private:
  StampReader stamps_;
  std::optional<FileDescriptor> directory_;  ///< invalid: digests are not kept
};

/// Returns the names in a directory that begin with this.
std::vector<std::string> NamesIn(const std::string& directory, std::string_view begin) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  while (const dirent* const entry = open == nullptr ? nullptr : readdir(open.get())) {
    if (std::string_view(entry->d_name).starts_with(begin)) names.emplace_back(entry->d_name);
  }
  return names;
}

/// `contents`: of the library and, of libnvrtc, the builtins.
Digest ComponentIdOf(const std::vector<Digest>& contents) {
  return ComponentId(contents[0], contents.size() > 1 ? std::optional(contents[1]) : std::nullopt);
}

}  // namespace

std::optional<Digest> StampOfFiles(std::span<const std::string> paths) {
  Digests digests;
  std::vector<std::string> stamps;
  for (const std::string& path : paths) {
    auto stamp = digests.StampOf(path);
    if (!stamp) return std::nullopt;
    stamps.push_back(*std::move(stamp));
  }
  return DigestOfStamps(stamps);
}

std::optional<Digest> DigestOfFile(const std::string& path) { return Digests().Of(path); }

Component ComponentOf(const std::string& library) {
  std::error_code error;
  const std::string real = fs::canonical(library, error).string();
  if (error) return {};
  const size_t name = real.rfind('/') + 1;
  if (!std::string_view(real).substr(name).starts_with(kNvrtcLibrary)) return {.files = {real}};
  Component component;
  std::string builtins;
  for (const std::string& each : NamesIn(real.substr(0, name), kBuiltins)) {
    std::string path = real.substr(0, name) + each;
    const std::string leads_to = fs::canonical(path, error).string();
    if (leads_to.empty() || (!builtins.empty() && leads_to != builtins)) return {};
    builtins = leads_to;
    if (component.builtins.empty() || path.size() < component.builtins.size()) {
      component.builtins = std::move(path);
    }
  }
  if (!builtins.empty()) component.files = {real, builtins};
  return component;
}

std::optional<Digest> ComponentIdOf(const std::string& library) {
  Digests digests;
  std::vector<Digest> contents;
  for (const std::string& file : ComponentOf(library).files) {
    const std::optional<Digest> digest = digests.Of(file);
    if (!digest) return std::nullopt;
    contents.push_back(*digest);
  }
  if (contents.empty()) return std::nullopt;
  return ComponentIdOf(contents);
}

std::string ToolchainIdByLibrary(const Component& component) {
  Digests digests;
  std::vector<std::string> stamps;
  std::vector<Digest> contents;
  for (const std::string& file : component.files) {
    auto stamp = digests.StampOf(file);
    if (!stamp) return "";
    if (const auto digest = digests.Kept(*stamp)) contents.push_back(*digest);
    stamps.push_back(*std::move(stamp));
  }
  if (stamps.empty()) return "";
  std::string id(kLibraryMark);
  id += DigestOfStamps(stamps).Hex() + ",";
  if (contents.size() == stamps.size()) id += ComponentIdOf(contents).Hex();
  return id;
}

}  // namespace cccl_cache

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

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "base/files/user_cache.h"
#include "proto/component_id.h"

namespace cccl_cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNvrtcLibrary = "libnvrtc.so";
constexpr std::string_view kBuiltinsFile = "libnvrtc-builtins.so.";
constexpr std::string_view kNvvmLibrary = "libnvvm.so";
/// Where NVIDIA's installations have libdevice, from the directory of libnvvm.
constexpr const char* kLibdevicePlaces[] = {"../libdevice/libdevice.10.bc",
                                            "../nvvm/libdevice/libdevice.10.bc"};

/// Returns the key of a file's digest in the cache directory, made from the file's stamp. The
/// Python package (client/python/cccl_cache/_plugin/file_digests.py) uses the same keys.
std::string NameOf(const std::string& stamp) {
  return Sha256("['/']" + DigestOfStamps({&stamp, 1}).Hex()).Hex();
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

/// Computes digests of files and keeps them in the user's cache directory, with the files' stamps
/// as keys. Use an object for a short time only, like StampReader. Not thread-safe.
class Digests {
 public:
  /// Returns the stamp of the file at a path as text. None: an equal stamp would not prove equal
  /// contents.
  std::optional<std::string> StampOf(const std::string& path) {
    const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
    const auto read = file.valid() ? stamps_.Of(file.get()) : std::nullopt;
    if (!read || !read->proves) return std::nullopt;
    return stamps_.TextOf(read->stamp);
  }

  /// Returns the digest in the cache directory for this stamp. None: there is none.
  std::optional<Digest> Kept(const std::string& stamp) {
    return Digest::FromHex(cache_.Get(NameOf(stamp)).value_or(""));
  }

  /// Returns the digest of the file at a path, and reads the file only if the cache directory has
  /// no digest. None: the file can't be read, or it changed during the read.
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
    if (before->proves) cache_.Put(NameOf(stamp), digest->Hex());
    return digest;
  }

 private:
  StampReader stamps_;
  const UserCache cache_ = UserCache::Of("digests");
};

/// Returns the names in a directory that begin with `begin`. The result is empty if the directory
/// can't be read.
std::vector<std::string> NamesIn(const std::string& directory, std::string_view begin) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  while (const dirent* const entry = open == nullptr ? nullptr : readdir(open.get())) {
    if (std::string_view(entry->d_name).starts_with(begin)) names.emplace_back(entry->d_name);
  }
  return names;
}

/// Returns the id of a component. `contents` has the digests of its files.
Digest ComponentIdOf(const Component& component, const std::vector<Digest>& contents) {
  return ComponentId(contents[0], contents.size() > 1 ? std::optional(contents[1]) : std::nullopt,
                     component.used_name);
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
  Component component;
  if (std::string_view(real).substr(name).starts_with(kNvvmLibrary)) {
    component = {.files = {real}, .used_name = kUsedLibdevice};
    for (const char* place : kLibdevicePlaces) {
      const std::string libdevice = fs::canonical(real.substr(0, name) + place, error).string();
      if (component.files.size() == 1 && !error) component.files.push_back(libdevice);
    }
    return component;
  }
  if (!std::string_view(real).substr(name).starts_with(kNvrtcLibrary)) return {.files = {real}};
  std::string builtins;
  for (const std::string& each : NamesIn(real.substr(0, name), kBuiltinsFile)) {
    std::string path = real.substr(0, name) + each;
    const std::string leads_to = fs::canonical(path, error).string();
    if (leads_to.empty() || (!builtins.empty() && leads_to != builtins)) return {};
    builtins = leads_to;
    if (component.builtins.empty() || path.size() < component.builtins.size()) {
      component.builtins = std::move(path);
    }
  }
  if (!builtins.empty()) component.files = {real, builtins};
  component.used_name = kUsedBuiltins;
  return component;
}

std::optional<Digest> ComponentIdOf(const std::string& library) {
  Digests digests;
  std::vector<Digest> contents;
  const Component component = ComponentOf(library);
  for (const std::string& file : component.files) {
    const std::optional<Digest> digest = digests.Of(file);
    if (!digest) return std::nullopt;
    contents.push_back(*digest);
  }
  if (contents.empty()) return std::nullopt;
  return ComponentIdOf(component, contents);
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
  if (contents.size() == stamps.size()) id += ComponentIdOf(component, contents).Hex();
  return id;
}

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace cccl_cache::daemon {
namespace {

using File = ToolchainHeaders::File;

std::string_view Rest(const File& file, size_t from) {
  return std::string_view(file.place).substr(from);
}

/// The places of each file by inode.
using Twins = std::map<std::pair<uint64_t, uint64_t>, std::vector<std::string_view>>;

Digest DigestOf(const File& file, const Twins& twins) {
  Hasher hasher;
  hasher.AppendValue("file", file.contents.View());
  const auto& places = twins.at(file.inode);
  if (places.size() == 1) return hasher.Finish();
  for (const std::string_view place : places) hasher.AppendValue("same", place);
  return hasher.Finish();
}

}  // namespace

ToolchainHeaders::ToolchainHeaders(std::vector<File> files, std::vector<Directory> directories,
                                   bool linked)
    : directories_(std::move(directories)), linked_(linked) {
  Twins twins;
  for (const File& file : files) twins[file.inode].emplace_back(file.place);
  // Computes the digests of all entries of one directory, and returns its own digest. `within` are
  // the files in it. `from` is the length of its place with the slash after it.
  const auto digest_directory = [&](auto& self, std::span<const File> within,
                                    size_t from) -> Digest {
    Hasher hasher;
    while (!within.empty()) {
      const std::string_view rest = Rest(within.front(), from);
      const std::string_view name = rest.substr(0, rest.find('/'));
      const size_t end = from + name.size();
      size_t count = 1;
      Digest digest;
      if (name.size() == rest.size()) {
        digest = DigestOf(within.front(), twins);
      } else {
        const std::string_view directory =
            std::string_view(within.front().place).substr(0, end + 1);
        while (count < within.size() && within[count].place.starts_with(directory)) ++count;
        digest = self(self, within.first(count), end + 1);
      }
      digests_.emplace(within.front().place.substr(0, end), digest);
      hasher.AppendValue("name", name);
      hasher.AppendValue("digest", digest.View());
      within = within.subspan(count);
    }
    return hasher.Finish();
  };
  digests_.emplace("", digest_directory(digest_directory, files, 0));
}

std::optional<Digest> ToolchainHeaders::Find(std::string_view place) const {
  const auto found = digests_.find(place);
  if (found == digests_.end()) return std::nullopt;
  return found->second;
}

bool ToolchainHeaders::IsDirectory(const std::string& place) const {
  const auto first = digests_.lower_bound(place + "/");
  return first != digests_.end() && first->first.starts_with(place + "/");
}

std::vector<std::string> ToolchainHeaders::PlacesOf(std::string_view name) const {
  if (!GoesUp(name)) return {std::string(name)};
  if (linked_) return {""};
  std::vector<std::string> places;
  std::string place;
  while (!name.empty()) {
    const std::string_view step = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), step.size() + 1));
    if (step != "..") {
      if (!place.empty()) place += '/';
      place += step;
      continue;
    }
    const size_t slash = place.rfind('/');
    if (slash == std::string::npos || !IsDirectory(place)) return {""};
    places.push_back(place);
    place.resize(slash);
  }
  places.push_back(std::move(place));
  return places;
}

const ToolchainHeaders::Directory* ToolchainHeaders::DirectoryOf(std::string_view path) const {
  const Directory* innermost = nullptr;
  for (const Directory& directory : directories_) {
    const bool longer = innermost == nullptr || directory.path.size() > innermost->path.size();
    if (LiesIn(path, directory.path) && longer) innermost = &directory;
  }
  return innermost;
}

size_t OutermostOf(const std::vector<HeaderDirectory>& directories, size_t index) {
  size_t outermost = index;
  for (size_t i = 0; i < directories.size(); ++i) {
    const std::string& outer = directories[outermost].path;
    if (outer.starts_with(directories[i].path + "/")) outermost = i;
  }
  return outermost;
}

std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index) {
  const size_t outermost = OutermostOf(directories, index);
  return fmt::format("{}{}", outermost,
                     directories[index].path.substr(directories[outermost].path.size()));
}

std::string Toolchain::version() const { return fmt::format("{}.{}", major, minor); }

const CompilerLibrary* Toolchain::Library(BuildKind kind) const {
  const auto pointer = [](const std::optional<CompilerLibrary>& library) {
    return library ? &*library : nullptr;
  };
  switch (kind) {
    case BuildKind::kNvrtc:
      return pointer(nvrtc);
    case BuildKind::kLink:
      return pointer(nvjitlink);
    case BuildKind::kNvvm:
      return pointer(nvvm);
  }
  return nullptr;
}

}  // namespace cccl_cache::daemon

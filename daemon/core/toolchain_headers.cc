// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/toolchain_headers.h"

#include <algorithm>
#include <span>

namespace cccl_cached {
namespace {

using cccl_cache::Digest;
using cccl_cache::Hasher;
using File = ToolchainHeaders::File;

std::string_view Rest(const File& file, size_t from) {
  return std::string_view(file.place).substr(from);
}

/// Files that are one inode.
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

ToolchainHeaders::ToolchainHeaders(std::vector<File> files, bool linked) : linked_(linked) {
  Twins twins;
  for (const File& file : files) twins[file.inode].emplace_back(file.place);
  // Digests the entries of one directory, `from` letters long with its slash.
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

std::optional<std::string> ToolchainHeaders::Resolve(std::string_view name) const {
  if (linked_) return std::nullopt;
  std::string_view place = name;
  std::string resolved;
  while (!place.empty()) {
    const std::string_view step = place.substr(0, place.find('/'));
    place.remove_prefix(std::min(place.size(), step.size() + 1));
    if (step != "..") {
      if (!resolved.empty()) resolved += '/';
      resolved += step;
      continue;
    }
    const size_t slash = resolved.rfind('/');
    if (slash == std::string::npos) return std::nullopt;  // out of the header directory
    if (!Find(resolved)) return std::string(name);        // no way through what is not there
    resolved.resize(slash);
  }
  return resolved;
}

}  // namespace cccl_cached

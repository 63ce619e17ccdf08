// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/toolchain_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {
namespace {

class FilesAndToolchain final : public RequesterFiles {
 public:
  FilesAndToolchain(std::unique_ptr<RequesterFiles> files,
                    std::shared_ptr<const ToolchainHeaders> toolchain)
      : files_(std::move(files)), toolchain_(std::move(toolchain)) {}

  void Expect(std::span<const ExpectedFile> expected) override {
    std::vector<ExpectedFile> outside;
    std::ranges::copy_if(expected, std::back_inserter(outside), [](const ExpectedFile& file) {
      return file.name->root != kToolchainRoot;
    });
    if (!outside.empty()) files_->Expect(outside);
  }
  Result<SeenFile> Look(const FileName& name) override {
    return name.root == kToolchainRoot ? LookInToolchain(name) : files_->Look(name);
  }
  Result<SeenFile> Compare(const FileName& name, const Digest& digest) override {
    return name.root == kToolchainRoot ? LookInToolchain(name) : files_->Compare(name, digest);
  }
  Result<Contents> Read(const FileName& name) override { return files_->Read(name); }

 private:
  [[nodiscard]] Result<SeenFile> LookInToolchain(const FileName& name) const {
    if (auto seen = SeenIn(*toolchain_, name)) return *seen;
    return Error{ErrorCode::kUnavailable, fmt::format("{} is not in this toolchain", name.below)};
  }

  const std::unique_ptr<RequesterFiles> files_;
  const std::shared_ptr<const ToolchainHeaders> toolchain_;
};

}  // namespace

ToolchainPlaces::ToolchainPlaces(ToolchainPtr toolchain, const std::vector<Mount>& mounts)
    : toolchain_(std::move(toolchain)) {
  std::ranges::copy_if(mounts, std::back_inserter(mounts_), &Mount::trusted);
}

const Mount* ToolchainPlaces::MountOf(std::string_view visible) const {
  const Mount* longest = nullptr;
  for (const Mount& mount : mounts_) {
    const bool longer = longest == nullptr || mount.visible.size() > longest->visible.size();
    if (LiesIn(visible, mount.visible) && longer) longest = &mount;
  }
  return longest;
}

std::optional<std::string> ToolchainPlaces::PathOf(std::string_view visible) const {
  const Mount* const mount = MountOf(visible);
  std::string path =
      mount == nullptr ? std::string(visible)
                       : fmt::format("{}{}", mount->target, visible.substr(mount->visible.size()));
  if (!LieIn(path)) return std::nullopt;
  return path;
}

bool ToolchainPlaces::LieIn(std::string_view path) const {
  const ToolchainHeaders::Directory* const directory = headers().DirectoryOf(path);
  return directory != nullptr && LiesInHeaders(path, directory->path);
}

std::vector<FileName> ToolchainPlaces::NamesOf(std::string_view visible) const {
  const std::optional<std::string> path = PathOf(visible);
  if (!path) return {};
  const ToolchainHeaders::Directory& directory = *headers().DirectoryOf(*path);
  const bool by_path = MountOf(visible) == nullptr;
  if (by_path && !GoesUp(*path)) return {{kToolchainRoot, *path}};
  std::vector<FileName> names;
  if (by_path) names.push_back({kToolchainRoot, directory.path});
  for (std::string& place :
       headers().PlacesOf(directory.place + path->substr(directory.path.size()))) {
    names.push_back({kToolchainRoot, std::move(place)});
  }
  return names;
}

std::string ToolchainPlaces::AnnouncedFor(std::string_view visible) const {
  if (const Mount* mount = MountOf(visible)) {
    return visible == mount->visible ? std::string() : EntryOf(visible, mount->visible);
  }
  const ToolchainHeaders::Directory* const directory = headers().DirectoryOf(visible);
  return directory == nullptr ? std::string(visible) : EntryOf(visible, directory->path);
}

std::unique_ptr<RequesterFiles> WithToolchain(std::unique_ptr<RequesterFiles> files,
                                              std::shared_ptr<const ToolchainHeaders> toolchain) {
  if (toolchain == nullptr) return files;
  return std::make_unique<FilesAndToolchain>(std::move(files), std::move(toolchain));
}

}  // namespace cccl_cache::daemon

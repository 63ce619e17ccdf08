// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/toolchain_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "daemon/core/toolchain_group.h"

namespace cccl_cached {
namespace {

bool LiesIn(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

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
    return name.root == kToolchainRoot ? SeenIn(*toolchain_, name) : files_->Look(name);
  }
  Result<SeenFile> Compare(const FileName& name, const cccl_cache::Digest& digest) override {
    return name.root == kToolchainRoot ? SeenIn(*toolchain_, name) : files_->Compare(name, digest);
  }
  Result<Contents> Read(const FileName& name) override {
    if (name.root == kToolchainRoot) return Contents{SeenIn(*toolchain_, name), nullptr};
    return files_->Read(name);
  }

 private:
  const std::unique_ptr<RequesterFiles> files_;
  const std::shared_ptr<const ToolchainHeaders> toolchain_;
};

}  // namespace

ToolchainPlaces::ToolchainPlaces(ToolchainPtr toolchain, const std::vector<Mount>& mounts)
    : toolchain_(std::move(toolchain)) {
  std::ranges::copy_if(mounts, std::back_inserter(mounts_), &Mount::trusted);
  const std::vector<HeaderDirectory>& directories = toolchain_->headers;
  for (size_t i = 0; i < directories.size(); ++i) {
    places_.push_back({directories[i].path, PlaceOf(directories, i)});
  }
}

const Mount* ToolchainPlaces::MountOf(std::string_view visible) const {
  const Mount* longest = nullptr;
  for (const Mount& mount : mounts_) {
    const bool longer = longest == nullptr || mount.visible.size() > longest->visible.size();
    if (LiesIn(visible, mount.visible) && longer) longest = &mount;
  }
  return longest;
}

const ToolchainPlaces::Place* ToolchainPlaces::PlaceIn(std::string_view path) const {
  const Place* longest = nullptr;
  for (const Place& place : places_) {
    const bool longer = longest == nullptr || place.path.size() > longest->path.size();
    if (LiesIn(path, place.path) && longer) longest = &place;
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
  // Python writes there when a tool of the toolchain runs: no part of it.
  return path.find("/__pycache__") == std::string_view::npos && PlaceIn(path) != nullptr;
}

std::optional<FileName> ToolchainPlaces::NameOf(std::string_view visible) const {
  const std::optional<std::string> path = PathOf(visible);
  if (!path) return std::nullopt;
  const Place& directory = *PlaceIn(*path);
  std::string place = directory.place + path->substr(directory.path.size());
  if (!GoesUp(place)) return FileName{kToolchainRoot, std::move(place)};
  return FileName{kToolchainRoot, headers().Resolve(place).value_or(std::string())};
}

std::string ToolchainPlaces::GroupOf(std::string_view visible) const {
  if (const Mount* mount = MountOf(visible)) return cccl_cached::GroupOf(visible, mount->visible);
  const Place* const directory = PlaceIn(visible);
  return directory == nullptr ? std::string(visible)
                              : cccl_cached::GroupOf(visible, directory->path);
}

std::unique_ptr<RequesterFiles> WithToolchain(std::unique_ptr<RequesterFiles> files,
                                              std::shared_ptr<const ToolchainHeaders> toolchain) {
  if (toolchain == nullptr) return files;
  return std::make_unique<FilesAndToolchain>(std::move(files), std::move(toolchain));
}

}  // namespace cccl_cached

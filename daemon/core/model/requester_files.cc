// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/requester_files.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "daemon/core/model/toolchain_places.h"

namespace cccl_cache::daemon {
namespace {

template <typename T>
bool OnlyTheCallerKnows(const Result<T>& answer) {
  return !answer && answer.error().code == ErrorCode::kFilesNeeded;
}

/// The files of a caller that sends files. The daemon looks first. If it gets kFilesNeeded, because
/// it may not open the file, the caller is asked.
class FilesOfBoth final : public RequesterFiles {
 public:
  FilesOfBoth(std::unique_ptr<RequesterFiles> daemons, std::unique_ptr<RequesterFiles> callers)
      : daemons_(std::move(daemons)), callers_(std::move(callers)) {}

  void Expect(std::span<const ExpectedFile> expected) override {
    std::vector<ExpectedFile> unknown;
    for (const ExpectedFile& file : expected) {
      auto known = looked_.find(*file.name);
      if (known == looked_.end()) {
        known = looked_.emplace(*file.name, daemons_->Look(*file.name)).first;
      }
      if (OnlyTheCallerKnows(known->second)) unknown.push_back(file);
    }
    if (!unknown.empty()) callers_->Expect(unknown);
  }

  Result<SeenFile> Look(const FileName& name) override {
    Result<SeenFile> seen = DaemonsLook(name);
    return OnlyTheCallerKnows(seen) ? callers_->Look(name) : std::move(seen);
  }

  Result<SeenFile> Compare(const FileName& name, const Digest& digest) override {
    Result<SeenFile> seen = DaemonsLook(name);
    return OnlyTheCallerKnows(seen) ? callers_->Compare(name, digest) : std::move(seen);
  }

  Result<Contents> Read(const FileName& name) override {
    Result<Contents> contents = daemons_->Read(name);
    return OnlyTheCallerKnows(contents) ? callers_->Read(name) : std::move(contents);
  }

 private:
  Result<SeenFile> DaemonsLook(const FileName& name) {
    const auto known = looked_.find(name);
    return known == looked_.end() ? daemons_->Look(name) : known->second;
  }

  const std::unique_ptr<RequesterFiles> daemons_;
  const std::unique_ptr<RequesterFiles> callers_;
  std::map<FileName, Result<SeenFile>> looked_;  // what the daemon found for the names in Expect
};

}  // namespace

std::string RootDirectories::PathOf(const FileName& name) const {
  if (name.root == kAbsoluteRoot) return name.below.starts_with('/') ? name.below : std::string();
  const bool in_working_directory = name.root == kWorkingDirectoryRoot;
  if (!in_working_directory && name.root >= roots.size()) return {};
  const std::string& root = in_working_directory ? working_directory : roots[name.root];
  if (!root.starts_with('/')) return {};
  if (name.below.empty()) return root;
  std::string path;
  path.reserve(root.size() + 1 + name.below.size());
  path = root;
  if (!root.ends_with('/')) path += '/';
  return path += name.below;
}

std::optional<SeenFile> SeenIn(const ToolchainHeaders& toolchain, const FileName& name) {
  std::string place = name.below;
  if (place.starts_with('/')) {
    const ToolchainHeaders::Directory* const directory = toolchain.DirectoryOf(place);
    if (directory == nullptr) return std::nullopt;
    place.replace(0, directory->path.size(), directory->place);
  }
  const std::optional<Digest> digest = toolchain.Find(place);
  if (!digest) return SeenFile{};
  return SeenFile{.kind = FileKind::kToolchain, .digest = *digest};
}

bool IsAloneWithSentFiles(uid_t uid, const RootDirectories& directories) {
  return uid == kOverflowUid || !directories.view;
}

std::unique_ptr<RequesterFiles> OpenFiles(FileAccess& access, const Caller& caller,
                                          const RootDirectories& directories) {
  std::unique_ptr<RequesterFiles> files = access.Of(caller.peer, directories);
  if (caller.files != nullptr) {
    files = std::make_unique<FilesOfBoth>(std::move(files), caller.files->Open(directories));
  }
  return WithToolchain(std::move(files), directories.toolchain);
}

}  // namespace cccl_cache::daemon

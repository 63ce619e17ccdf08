// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/caller_files.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

namespace cccl_cached {
namespace {

template <typename T>
bool OnlyTheCallerKnows(const Result<T>& answer) {
  return !answer && answer.error().code == ErrorCode::kFilesNeeded;
}

/// The daemon's view first, the caller's word where that has none.
class FilesOfBoth final : public RequesterFiles {
 public:
  FilesOfBoth(std::unique_ptr<RequesterFiles> daemons, std::unique_ptr<RequesterFiles> callers)
      : daemons_(std::move(daemons)), callers_(std::move(callers)) {}

  void Expect(std::span<const FileName* const> names) override {
    std::vector<const FileName*> unknown;
    for (const FileName* name : names) {
      if (looked_.contains(*name)) continue;
      Result<SeenFile> seen = daemons_->Look(*name);
      if (OnlyTheCallerKnows(seen)) {
        unknown.push_back(name);
      } else {
        looked_.emplace(*name, std::move(seen));
      }
    }
    if (!unknown.empty()) callers_->Expect(unknown);
  }

  Result<SeenFile> Look(const FileName& name) override {
    if (const auto known = looked_.find(name); known != looked_.end()) return known->second;
    Result<SeenFile> seen = daemons_->Look(name);
    return OnlyTheCallerKnows(seen) ? callers_->Look(name) : std::move(seen);
  }

  Result<Contents> Read(const FileName& name) override {
    Result<Contents> contents = daemons_->Read(name);
    return OnlyTheCallerKnows(contents) ? callers_->Read(name) : std::move(contents);
  }

 private:
  const std::unique_ptr<RequesterFiles> daemons_;
  const std::unique_ptr<RequesterFiles> callers_;
  std::map<FileName, Result<SeenFile>> looked_;  // names that were expected
};

}  // namespace

bool IsAloneWithSentFiles(uid_t uid, const RootDirectories& directories) {
  return uid == kOverflowUid || !directories.view;
}

std::unique_ptr<RequesterFiles> OpenFiles(FileAccess& access, const Caller& caller,
                                          const RootDirectories& directories) {
  std::unique_ptr<RequesterFiles> files = access.Of(caller.peer, directories);
  if (caller.files == nullptr) return files;
  return std::make_unique<FilesOfBoth>(std::move(files), caller.files->Open(directories));
}

}  // namespace cccl_cached

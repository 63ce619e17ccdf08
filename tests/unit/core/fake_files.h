// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/model/requester_files.h"

namespace cccl_cache::daemon::testing {

/// A disk that all requesters share: absolute paths and their files. Thread-safe.
class FakeDisk {
 public:
  /// `inode`: equal numbers are hard links; 0: a new inode.
  void Write(const std::string& path, const std::string& text, uint64_t inode = 0) {
    const std::lock_guard lock(mutex_);
    if (inode == 0) inode = 1000 + ++last_inode_;
    files_[path] = {text, inode};
  }
  void Remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    files_.erase(path);
  }
  /// Makes every look at this path fail with this error.
  void Refuse(const std::string& path, Error error) {
    const std::lock_guard lock(mutex_);
    refused_[path] = std::move(error);
  }
  /// From now on every look waits until Wake.
  void Hang() {
    const std::lock_guard lock(mutex_);
    hangs_ = true;
  }
  void Wake() {
    const std::lock_guard lock(mutex_);
    hangs_ = false;
    changed_.notify_all();
  }
  [[nodiscard]] int looks() const {
    const std::lock_guard lock(mutex_);
    return looks_;
  }

  Result<RequesterFiles::Contents> Read(const std::string& path) {
    std::unique_lock lock(mutex_);
    ++looks_;
    changed_.wait(lock, [this] { return !hangs_; });
    if (const auto refused = refused_.find(path); refused != refused_.end()) return refused->second;
    const auto found = files_.find(path);
    RequesterFiles::Contents contents;
    if (found == files_.end()) return contents;
    contents.seen = {
        FileKind::kFile, cccl_cache::Sha256(found->second.first), {1, found->second.second}};
    contents.bytes = std::make_shared<const std::string>(found->second.first);
    return contents;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
  uint64_t last_inode_ = 0;
  int looks_ = 0;
  std::map<std::string, std::pair<std::string, uint64_t>> files_;
  std::map<std::string, Error> refused_;
};

class FakeRequesterFiles final : public RequesterFiles {
 public:
  FakeRequesterFiles(std::shared_ptr<FakeDisk> disk, RootDirectories directories)
      : disk_(std::move(disk)), directories_(std::move(directories)) {}

  Result<SeenFile> Look(const FileName& name) override {
    auto contents = Read(name);
    if (!contents) return contents.error();
    return contents->seen;
  }
  Result<Contents> Read(const FileName& name) override { return disk_->Read(PathOf(name)); }

 private:
  [[nodiscard]] std::string PathOf(const FileName& name) const {
    if (name.root == kAbsoluteRoot) return name.below;
    const std::string& directory = name.root == kWorkingDirectoryRoot
                                       ? directories_.working_directory
                                       : directories_.roots.at(name.root);
    return directory + "/" + name.below;
  }

  const std::shared_ptr<FakeDisk> disk_;  // shared, because a hung thread may outlive the test
  const RootDirectories directories_;
};

class FakeFileAccess final : public FileAccess {
 public:
  std::unique_ptr<RequesterFiles> Of(const Peer&, RootDirectories directories) override {
    ++opened;
    return std::make_unique<FakeRequesterFiles>(disk, std::move(directories));
  }

  const std::shared_ptr<FakeDisk> disk = std::make_shared<FakeDisk>();
  std::atomic<int> opened{0};
};

}  // namespace cccl_cache::daemon::testing

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/fake_job_files.h"

#include <chrono>
#include <utility>

namespace cccl_cache::daemon {

uint64_t FakeJobFiles::AddFile(const std::string& name, std::string contents, uint64_t identity) {
  if (identity == 0) identity = ++last_identity_;
  answers_[name] = {FileKind::kFile, identity,
                    std::make_shared<const std::string>(std::move(contents))};
  const size_t slash = name.rfind('/');
  if (slash != 0) AddDirectory(name.substr(0, slash));
  return identity;
}

void FakeJobFiles::AddDirectory(const std::string& name) {
  if (!answers_.contains(name)) {
    answers_[name] = {FileKind::kDirectory, ++last_identity_, nullptr};
  }
  const size_t slash = name.rfind('/');
  if (slash != 0) AddDirectory(name.substr(0, slash));
}

void FakeJobFiles::Release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

bool FakeJobFiles::WaitUntilHanging() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return hangs_; });
}

std::vector<std::string> FakeJobFiles::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

Result<FileAnswer> FakeJobFiles::Ask(std::string_view name) {
  const std::string key(name);
  std::unique_lock lock(mutex_);
  asked_.push_back(key);
  if (hanging_ == key) {
    hangs_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_; });
  }
  if (const auto error = errors_.find(key); error != errors_.end()) return error->second;
  const auto answer = answers_.find(key);
  return answer == answers_.end() ? FileAnswer{} : answer->second;
}

Status FakeJobFiles::LookInToolchain(std::string_view name) {
  const std::lock_guard lock(mutex_);
  looked_in_toolchain_.emplace_back(name);
  return Ok{};
}

std::vector<std::string> FakeJobFiles::looked_in_toolchain() const {
  const std::lock_guard lock(mutex_);
  return looked_in_toolchain_;
}

}  // namespace cccl_cache::daemon

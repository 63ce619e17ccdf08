// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon {

/// Stores deposits for the length of the test. Thread-safe.
class FakeDepositStore final : public DepositStore {
 public:
  Result<DepositContents> Get(const cccl_cache::Digest& key) override {
    if (unreadable) return Error{ErrorCode::kUnavailable, "the disk does not answer"};
    if (auto meanwhile = TakeMeanwhile()) {
      meanwhile();
      return DepositContents();
    }
    const std::lock_guard lock(mutex_);
    ++gets_;
    const auto found = deposits_.find(key);
    return found == deposits_.end() ? DepositContents() : found->second.second;
  }
  DepositContents FindInMemory(const cccl_cache::Digest&) override { return nullptr; }
  bool Put(const DepositRecord& record, DepositContents contents) override {
    const std::lock_guard lock(mutex_);
    if (!full) deposits_[record.key] = {record, std::move(contents)};
    return !full;
  }
  void PutRecord(const DepositRecord& record) override {
    const std::lock_guard lock(mutex_);
    deposits_[record.key].first = record;
  }
  void Remove(const cccl_cache::Digest& key) override {
    if (auto meanwhile = std::exchange(during_remove, {})) meanwhile();
    const std::lock_guard lock(mutex_);
    deposits_.erase(key);
  }
  std::vector<DepositRecord> Records() override {
    const std::lock_guard lock(mutex_);
    std::vector<DepositRecord> records;
    if (unreadable) return records;
    for (const auto& [key, deposit] : deposits_) records.push_back(deposit.first);
    return records;
  }

  /// Each is called once: `during_get` by the next Get, which finds nothing, `during_remove` at the
  /// start of the next Remove. Set only while no call runs.
  std::function<void()> during_get;
  std::function<void()> during_remove;
  bool full = false;        ///< nothing more can be stored
  bool unreadable = false;  ///< the disk can't be read

  /// Makes the deposit's checksum wrong.
  void Corrupt(const cccl_cache::Digest& key) {
    const std::lock_guard lock(mutex_);
    deposits_.at(key).second = nullptr;
  }
  [[nodiscard]] size_t size() {
    const std::lock_guard lock(mutex_);
    return deposits_.size();
  }
  [[nodiscard]] int gets() {
    const std::lock_guard lock(mutex_);
    return gets_;
  }

 private:
  std::function<void()> TakeMeanwhile() {
    const std::lock_guard lock(mutex_);
    return std::exchange(during_get, {});
  }

  std::mutex mutex_;
  std::map<cccl_cache::Digest, std::pair<DepositRecord, DepositContents>> deposits_;
  int gets_ = 0;
};

}  // namespace cccl_cache::daemon

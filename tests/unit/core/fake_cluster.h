// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "daemon/core/model/cluster.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::testing {

/// Other nodes that store a coordinator's entries, and answer when the test decides. Thread-safe.
class FakeCluster final : public Cluster {
 public:
  struct Asked {
    Question question;
    std::stop_token ended;
    Asker asker;
  };

  bool Ask(Question question, const std::stop_token& ended, Asker asker) override {
    if (!reachable) return false;
    const std::lock_guard lock(mutex_);
    asked_.push_back({std::move(question), ended, std::move(asker)});
    changed_.notify_all();
    return true;
  }
  void Peek(Question question, std::function<void(Peeked)> told) override {
    if (!reachable) return told({.finding = TierFinding::kNotConnected, .reason = "unplugged"});
    Peeked peeked;
    const auto entries = this->entries();
    for (const EntryName& entry : question.entries) {
      const auto held = entries.find(entry.key);
      peeked.found.push_back(held == entries.end() ? SharedEntry() : held->second);
    }
    if (peeked.found.front()) peeked.finding = TierFinding::kHasIt;
    told(std::move(peeked));
  }
  void LooksOutside(const Digest& compile, uid_t uid) override {
    const std::lock_guard lock(mutex_);
    outside[compile] = uid;
  }
  void Share(const EntryName& name, const SharedEntry& entry, Account /*account*/) override {
    const std::lock_guard lock(mutex_);
    // As of a node without a lease, so that a deposit replaces none.
    if (name.kind == EntryKind::kDeposit && entries_.contains(name.key)) return;
    entries_[name.key] = entry;
  }
  void Forget(const EntryName& name) override {
    const std::lock_guard lock(mutex_);
    entries_.erase(name.key);
  }
  void Close() override {
    const std::lock_guard lock(mutex_);
    asked_.clear();
  }

  /// Waits for this many questions, and returns the last.
  Asked Last(size_t questions = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return asked_.size() >= questions; });
    REQUIRE(asked_.size() == questions);
    return asked_.back();
  }
  size_t asked() {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }
  /// Answers a question with the stored entries. Returns whether they served the build; none if
  /// there was no entry.
  std::optional<bool> Tell(const Asked& asked) {
    Cluster::Found found{.tier = tier};
    bool any = false;
    for (const EntryName& entry : asked.question.entries) {
      const auto entries = this->entries();
      const auto held = entries.find(entry.key);
      found.entries.push_back(held == entries.end() ? SharedEntry() : held->second);
      any = any || found.entries.back();
    }
    return any ? std::optional(asked.asker.found(found)) : std::nullopt;
  }
  std::map<Digest, SharedEntry> entries() {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

  std::atomic<bool> reachable = true;
  TierName tier = TierName::kRemote;  ///< the tier that has the entries
  std::map<Digest, uid_t> outside;    ///< to be read when no compile runs

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;
  std::map<Digest, SharedEntry> entries_;
};

}  // namespace cccl_cache::daemon::testing

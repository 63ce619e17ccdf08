// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/coordinator/builder.h"
#include "daemon/core/model/releases.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/core/model/upkeep.h"
#include "daemon/service/calls/backend.h"

namespace cccl_cache::daemon {

inline ArtifactPtr MakeArtifact(std::string cubin) {
  auto artifact = std::make_shared<Artifact>();
  ArtifactPart part{cccl_cache::ArtifactKind::kCubin, std::move(cubin), {}};
  part.sha256 = cccl_cache::Sha256(part.bytes);
  artifact->parts.push_back(std::move(part));
  return artifact;
}

inline BuildAnswer MakeAnswer(std::string cubin) {
  BuildAnswer answer;
  answer.outcome = Outcome::kHit;
  answer.tier = TierName::kMemory;
  answer.key = cccl_cache::Sha256("key");
  answer.artifact = MakeArtifact(std::move(cubin));
  return answer;
}

/// A builder whose answers the test sets: at once, or at AnswerAll(). Thread-safe.
class FakeBuilder final : public Builder {
 public:
  using Answerer = std::function<Result<BuildAnswer>(const cccl_cache::BuildRequest&, const Peer&)>;

  /// From now on, answers each build at once, or in AnswerAll() if `answerer` is null.
  void AnswerWith(Answerer answerer) {
    std::lock_guard lock(mutex_);
    answerer_ = std::move(answerer);
  }

  /// From now on, calls `later` for each build instead of answering it.
  using Later = std::function<void(const Caller&, Done)>;
  void AnswerLater(Later later) {
    std::lock_guard lock(mutex_);
    later_ = std::move(later);
  }

  Ticket Start(std::shared_ptr<const cccl_cache::BuildRequest> request, const Caller& caller,
               Done done) override {
    const Peer& peer = caller.peer;
    std::unique_lock lock(mutex_);
    const auto ticket = ++last_ticket_;
    peers_.push_back(peer);
    if (later_) {
      const Later later = later_;
      lock.unlock();
      later(caller, std::move(done));
      return ticket;
    }
    if (answerer_) {
      const Answerer answerer = answerer_;
      lock.unlock();
      done(answerer(*request, peer));
      return ticket;
    }
    waiting_.emplace(ticket, std::move(done));
    changed_.notify_all();
    return ticket;
  }

  void Leave(Ticket ticket) override {
    std::lock_guard lock(mutex_);
    waiting_.erase(ticket);
    ++left_;
    changed_.notify_all();
  }

  /// If null, the caller waits for AnswerQuestions().
  std::function<Explanation(const cccl_cache::DigestPrefix&, uid_t)> explain_key;
  std::function<Result<Explanation>(const cccl_cache::BuildRequest&, const Peer&)> explain_build;

  /// The build in progress of every key; null if there is none.
  std::shared_ptr<const cccl_cache::BuildRequest> in_progress;

  Result<std::shared_ptr<const cccl_cache::BuildRequest>> RequestOf(const cccl_cache::DigestPrefix&,
                                                                    const Peer&) const override {
    return in_progress;
  }
  void ExplainKey(const cccl_cache::DigestPrefix& key, const Peer& peer,
                  Explainer::Done done) override {
    if (explain_key) return done(explain_key(key, peer.uid));
    std::lock_guard lock(mutex_);
    questions_.push_back(std::move(done));
    changed_.notify_all();
  }
  Ticket Explain(std::shared_ptr<const cccl_cache::BuildRequest> request, const Peer& peer,
                 Explainer::Done done) override {
    if (explain_build) {
      done(explain_build(*request, peer));
      return 0;
    }
    std::lock_guard lock(mutex_);
    questions_.push_back(std::move(done));
    changed_.notify_all();
    return ++last_ticket_;
  }

  [[nodiscard]] bool WaitForWaiting(size_t count) {
    return WaitFor([&] { return waiting_.size() == count; });
  }
  [[nodiscard]] bool WaitForQuestions(size_t count) {
    return WaitFor([&] { return questions_.size() == count; });
  }
  [[nodiscard]] bool WaitForLeft(size_t count) {
    return WaitFor([&] { return left_ == count; });
  }
  void AnswerQuestions(const Explanation& explanation) {
    std::vector<Explainer::Done> questions;
    {
      std::lock_guard lock(mutex_);
      std::swap(questions, questions_);
    }
    for (const auto& done : questions) done(explanation);
  }
  void AnswerAll(const BuildAnswer& answer) {
    std::map<Ticket, Done> waiting;
    {
      std::lock_guard lock(mutex_);
      std::swap(waiting, waiting_);
    }
    for (auto& [ticket, done] : waiting) done(answer);
  }
  [[nodiscard]] std::vector<Peer> peers() {
    std::lock_guard lock(mutex_);
    return peers_;
  }

 private:
  template <typename Condition>
  bool WaitFor(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Answerer answerer_;
  Later later_;
  std::map<Ticket, Done> waiting_;
  std::vector<Peer> peers_;
  std::vector<Explainer::Done> questions_;
  Ticket last_ticket_ = 0;
  size_t left_ = 0;
};

class FakeIncomingSnapshot final : public IncomingSnapshot {
 public:
  Status Append(std::string_view) override { return Ok{}; }
  Result<SnapshotSummary> Finish() override { return SnapshotSummary{}; }
};

class FakeSnapshots final : public Snapshots {
 public:
  std::function<Result<SnapshotSummary>(const SnapshotCaller&, const SnapshotFilter&, const Sink&)>
      create;

  Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                 const Sink& sink) override {
    return create(caller, filter, sink);
  }

  Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller) override {
    return std::unique_ptr<IncomingSnapshot>(std::make_unique<FakeIncomingSnapshot>());
  }
};

/// Runs the functions that the test sets.
class FakeUpkeep final : public Upkeep {
 public:
  std::function<Result<TierSize>(const EvictionFilter&, const Progress<TierSize>&)> evict;
  std::function<Result<Verified>(const Progress<Verified>&, const std::stop_token&)> verify;

  Result<TierSize> Evict(const Peer&, const EvictionFilter& filter,
                         const Progress<TierSize>& progress, const std::stop_token&) override {
    return evict(filter, progress);
  }
  Result<Verified> Verify(const Peer&, const Progress<Verified>& progress,
                          const std::stop_token& left) override {
    return verify(progress, left);
  }
};

class FakeReleases final : public Releases {
 public:
  Result<Offer> Receive(const Peer&, std::span<const Digest>) override {
    return Error{ErrorCode::kToolchainNotFound, "no such release"};
  }
};

class FakeToolchains final : public Toolchains {
 public:
  std::optional<Result<ToolchainPtr>> Select(const cccl_cache::ToolchainSelector&,
                                             uint32_t driver_version,
                                             cccl_cache::BuildKind) override {
    if (changed) return std::nullopt;
    const auto found = by_driver.find(driver_version);
    if (found == by_driver.end()) return Error{ErrorCode::kToolchainNotFound, "none"};
    return found->second;
  }
  void WhenKnown(const cccl_cache::ToolchainSelector&, uint32_t, cccl_cache::BuildKind,
                 std::function<void()> done) override {
    std::lock_guard lock(mutex_);
    looking_.push_back(std::move(done));
  }
  bool Looked() override { return looked; }
  bool Unchanged(const Toolchain&) override { return true; }
  std::vector<ToolchainPtr> Present() override { return present; }
  std::vector<RejectedToolchain> Rejected() override { return rejected; }

  /// Calls all callbacks that WhenKnown() has received.
  void FinishLooking() {
    std::vector<std::function<void()>> looking;
    {
      std::lock_guard lock(mutex_);
      std::swap(looking, looking_);
    }
    for (const auto& done : looking) done();
  }
  [[nodiscard]] size_t looking() {
    std::lock_guard lock(mutex_);
    return looking_.size();
  }

  std::vector<ToolchainPtr> present;
  std::map<uint32_t, ToolchainPtr> by_driver;  ///< the selected toolchain by the driver's version
  std::atomic<bool> changed = false;           ///< whether a scan is needed
  std::vector<RejectedToolchain> rejected;
  std::atomic<bool> looked = true;

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> looking_;
};

}  // namespace cccl_cache::daemon

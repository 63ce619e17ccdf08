// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"

/// Fakes for the core's interfaces: deterministic, controlled by the test.
namespace cccl_cache::daemon::testing {

inline constexpr std::chrono::seconds kPatience{60};  // only spent by a failing test

inline ToolchainPtr MakeToolchain(const std::string& id = "13") {
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->id = cccl_cache::Sha256(id);
  toolchain->major = 13;
  toolchain->root = "/opt/cuda";
  CompilerLibrary library{
      "/opt/cuda/lib/libnvrtc.so", {}, "13.0", cccl_cache::Sha256("nvrtc" + id)};
  toolchain->nvrtc = library;
  library.id = cccl_cache::Sha256("nvjitlink" + id);
  toolchain->nvjitlink = library;
  library.id = cccl_cache::Sha256("nvvm" + id);
  toolchain->nvvm = library;
  toolchain->headers = {{"/opt/cuda/include", {"/usr/local/cuda/include"}},
                        {"/opt/cuda/include/cccl", {}}};
  toolchain->capabilities = {true, true, true};
  return toolchain;
}

class FakeToolchains final : public Toolchains {
 public:
  explicit FakeToolchains(ToolchainPtr toolchain = MakeToolchain())
      : current_(std::move(toolchain)) {}

  std::optional<Result<ToolchainPtr>> Select(const cccl_cache::ToolchainSelector& selector,
                                             uint32_t, cccl_cache::BuildKind) override {
    std::lock_guard lock(mutex_);
    if (selector.major == 99) return Error{ErrorCode::kToolchainNotFound, "no CUDA 99 here"};
    if (looks_needed_ > 0) return std::nullopt;
    return current_;
  }
  void WhenKnown(const cccl_cache::ToolchainSelector&, uint32_t, cccl_cache::BuildKind,
                 std::function<void()> done) override {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  bool Looked() override { return true; }
  bool Unchanged(const Toolchain& toolchain) override {
    std::lock_guard lock(mutex_);
    return toolchain.id == current_->id;
  }
  std::vector<ToolchainPtr> Present() override { return {current_}; }
  std::vector<RejectedToolchain> Rejected() override { return {}; }

  void Replace(ToolchainPtr toolchain) {
    std::lock_guard lock(mutex_);
    current_ = std::move(toolchain);
  }

  /// Select returns no answer until this many looks have finished.
  void NeedLooks(int looks) {
    std::lock_guard lock(mutex_);
    looks_needed_ = looks;
  }
  /// Ends one look. Returns the number of callers that waited for it.
  size_t FinishLook() {
    std::vector<std::function<void()>> waiting;
    {
      std::lock_guard lock(mutex_);
      --looks_needed_;
      waiting.swap(waiting_);
    }
    for (const auto& done : waiting) done();
    return waiting.size();
  }

 private:
  std::mutex mutex_;
  ToolchainPtr current_;
  int looks_needed_ = 0;
  std::vector<std::function<void()>> waiting_;
};

inline ArtifactPtr MakeArtifact(const std::string& bytes, const std::string& log = "") {
  auto artifact = std::make_shared<Artifact>();
  artifact->parts.push_back({cccl_cache::ArtifactKind::kCubin, bytes, cccl_cache::Sha256(bytes)});
  artifact->log = log;
  artifact->compile_time = std::chrono::milliseconds(5);
  return artifact;
}

inline CompileOutput Succeed(const std::string& bytes, const std::string& log = "") {
  CompileOutput output;
  output.succeeded = true;
  output.artifact = MakeArtifact(bytes, log);
  return output;
}

inline CompileOutput Fail(const std::string& log) {
  CompileOutput output;
  output.native_code = 6;
  output.native_name = "NVRTC_ERROR_COMPILATION";
  auto artifact = std::make_shared<Artifact>();
  artifact->log = log;
  output.artifact = artifact;
  return output;
}

/// A preamble that can be made useless.
class FakePrecompiled final : public Precompiled {
 public:
  explicit FakePrecompiled(uint64_t bytes) : bytes_(bytes) {}
  [[nodiscard]] uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] bool usable() const override {
    if (when_asked) when_asked();
    return usable_;
  }
  void Spoil() { usable_ = false; }

  std::function<void()> when_asked;  ///< called by usable(); may be empty

 private:
  const uint64_t bytes_;
  std::atomic<bool> usable_{true};
};

/// After Shut(), compiles wait for Open(). A compile returns the result of `behaviour` for its
/// number.
class FakeCompiler final : public Compiler {
 public:
  using Behaviour = std::function<Result<CompileOutput>(const CompileJob& job, int call)>;

  explicit FakeCompiler(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}

  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                std::stop_token stop) override {
    int call = 0;
    {
      std::unique_lock lock(mutex_);
      limits_.push_back(limits);
      call = ++started_;
      changed_.notify_all();
      changed_.wait(lock, stop, [this] { return open_; });
      if (stop.stop_requested()) {
        ++cancelled_;
        changed_.notify_all();
        return Error{ErrorCode::kCancelled, "stopped"};
      }
    }
    const std::stop_callback told(stop, [this] {
      std::lock_guard lock(mutex_);
      ++told_to_end_;
      changed_.notify_all();
    });
    Result<CompileOutput> output = behaviour_(job, call);
    std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
    return output;
  }

  using Precompilation =
      std::function<Result<std::shared_ptr<const Precompiled>>(const CompileJob&)>;
  /// Sets the result of Precompile. Until then Precompile fails.
  void SetPrecompilation(Precompilation precompilation) {
    std::lock_guard lock(mutex_);
    precompilation_ = std::move(precompilation);
  }
  Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job, const CompileLimits&,
                                                        std::stop_token) override {
    Precompilation precompilation;
    {
      std::lock_guard lock(mutex_);
      precompilation = precompilation_;
    }
    if (precompilation) return precompilation(job);
    return Error{ErrorCode::kUnavailable, "nothing is kept"};
  }

  /// From now on KeepsApart() returns true for this account only.
  void KeepApart(Account account) { apart_ = account; }
  bool KeepsApart(const Toolchain&, Account account) override { return apart_ == account; }

  void Shut() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool WaitUntilStarted(int calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return started_ >= calls; });
  }
  /// Waits for calls that ended without being cancelled.
  bool WaitUntilEnded(int calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return ended_ >= calls; });
  }
  /// Waits for calls that were told to end; their behaviour may still run.
  bool WaitUntilToldToEnd(int calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return told_to_end_ >= calls; });
  }
  bool WaitUntilCancelled(int calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return cancelled_ >= calls; });
  }
  int started() {
    std::lock_guard lock(mutex_);
    return started_;
  }
  std::vector<CompileLimits> limits() {
    std::lock_guard lock(mutex_);
    return limits_;
  }

 private:
  const Behaviour behaviour_;
  std::optional<Account> apart_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ = true;
  int started_ = 0;
  int ended_ = 0;
  int cancelled_ = 0;
  int told_to_end_ = 0;
  std::vector<CompileLimits> limits_;
  Precompilation precompilation_;
};

class MapTier final : public Tier {
 public:
  explicit MapTier(TierName name) : name_(name) {}

  /// Called by each Get, without a lock; to be set while no call runs.
  std::function<void()> during_get;

  TierName name() const override { return name_; }
  ArtifactPtr Get(const cccl_cache::Digest& key) override {
    if (during_get) during_get();
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second;
  }
  bool Holds(const cccl_cache::Digest& key) override {
    std::lock_guard lock(mutex_);
    return entries_.contains(key);
  }
  void Put(const cccl_cache::Digest& key, ArtifactPtr artifact) override {
    std::lock_guard lock(mutex_);
    entries_[key] = std::move(artifact);
    changed_.notify_all();
  }
  void Remove(const cccl_cache::Digest& key) override {
    std::lock_guard lock(mutex_);
    entries_.erase(key);
    changed_.notify_all();
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return entries_.size();
  }
  bool WaitUntilEmpty() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return entries_.empty(); });
  }
  bool WaitUntilHolds(size_t entries) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return entries_.size() >= entries; });
  }
  void Clear() {
    std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  const TierName name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<cccl_cache::Digest, ArtifactPtr> entries_;
};

class Answers {
 public:
  BuildCoordinator::Done Collect() {
    return [this](Result<BuildAnswer> answer) {
      std::lock_guard lock(mutex_);
      answers_.push_back(std::move(answer));
      changed_.notify_all();
    };
  }
  /// Returns all answers once there are `count`, or fewer after a time limit.
  std::vector<Result<BuildAnswer>> Wait(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return answers_.size() >= count; });
    return answers_;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return answers_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result<BuildAnswer>> answers_;
};

inline std::shared_ptr<cccl_cache::BuildRequest> MakeRequest(const std::string& source) {
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  cccl_cache::NvrtcProgram program;
  program.source = source;
  program.name = "kernel.cu";
  program.options = {"-arch=sm_90"};
  request->program = std::move(program);
  request->working_directory = "/home/someone";
  return request;
}

}  // namespace cccl_cache::daemon::testing

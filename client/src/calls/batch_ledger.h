// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/calls/build_steps.h"
#include "client/src/calls/result_cache.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// The builds of a batch: the unfinished builds by number, and the finished builds that the caller
/// has not taken. Numbers are never reused. Results go into the result cache, which must outlive
/// the ledger. Not thread-safe.
class BuildLedger {
 public:
  using Clock = std::chrono::steady_clock;

  struct Build {
    uint64_t tag;  ///< chosen by the program
    std::shared_ptr<RequestMessage> request;
    BuildSteps steps;  ///< the daemon's calls for the request
    RequestName name;  ///< key in the result cache
    Deadline deadline;
    Deadline patience;  ///< end of the time that the daemon may take
    Clock::time_point start = Clock::now();
    bool here = false;           ///< whether the daemon is no longer asked for the build
    int losses = 0;              ///< number of connections that were lost during the build
    std::string postponed = {};  ///< why the daemon asked for a later retry
  };
  struct Finished {
    uint64_t tag;
    Expected<TimedReply> result;
  };

  explicit BuildLedger(ResultCache* memory) : memory_(*memory) {}

  /// Adds a build and returns its number.
  uint64_t Add(Build build);
  void AddFinished(Finished finished) { finished_.push_back(std::move(finished)); }
  /// Returns the unfinished build, or null if it has finished.
  [[nodiscard]] Build* Find(uint64_t number);
  /// Like Find, but also returns null if the daemon is no longer asked for the build.
  [[nodiscard]] Build* FindAsked(uint64_t number);
  /// Returns the unfinished builds with this tag.
  [[nodiscard]] std::vector<uint64_t> WithTag(uint64_t tag) const;
  /// Returns the unfinished builds whose patience or deadline has passed.
  [[nodiscard]] std::vector<uint64_t> Late(Clock::time_point now);

  // Finishes an unfinished build.
  void Finish(uint64_t number, Expected<BuildReply> reply);
  /// Stops the wait for the daemon: from now on only the build's own deadline counts.
  void KeepHere(uint64_t number);
  void FinishHere(uint64_t number, BuildReply reply, std::string why_local);
  /// Returns the first finished build, or none if none has finished.
  std::optional<Finished> Take();

  [[nodiscard]] bool any_finished() const { return !finished_.empty(); }
  [[nodiscard]] bool any_open() const { return !builds_.empty(); }
  [[nodiscard]] size_t size() const { return builds_.size() + finished_.size(); }
  /// Returns a time before which no build is late.
  [[nodiscard]] Clock::time_point soonest() const { return soonest_; }

 private:
  void AddReply(const Build& build, std::shared_ptr<const BuildReply> reply, std::string why_local);

  ResultCache& memory_;
  std::map<uint64_t, Build> builds_;
  uint64_t last_number_ = 0;
  Clock::time_point soonest_ = Clock::time_point::max();
  std::deque<Finished> finished_;
};

}  // namespace cccl_cache

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

/// The builds of a batch: unfinished ones by number, and finished ones that Take has not returned.
/// A number is used only once. Results of the daemon are also stored in the result cache `memory`,
/// which must outlive the ledger. Not thread-safe.
class BuildLedger {
 public:
  using Clock = std::chrono::steady_clock;

  struct Build {
    uint64_t tag;  ///< chosen by the program
    std::shared_ptr<RequestMessage> request;
    BuildSteps steps;  ///< the calls that the daemon gets for this build
    RequestName name;  ///< key in the result cache
    Deadline deadline;
    Deadline patience;  ///< the daemon must answer before this time
    Clock::time_point start = Clock::now();
    bool here = false;           ///< whether only the local compiler may still complete the build
    int losses = 0;              ///< number of connections that were lost during the build
    std::string postponed = {};  ///< error with which the daemon last asked for a later retry;
                                 ///< empty: none
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
  /// Like Find, but returns null if only the local compiler may still complete the build.
  [[nodiscard]] Build* FindAsked(uint64_t number);
  /// Returns the numbers of the unfinished builds with this tag.
  [[nodiscard]] std::vector<uint64_t> WithTag(uint64_t tag) const;
  /// Returns the numbers of the unfinished builds that are late: the patience has passed, or for
  /// builds of the local compiler, the deadline.
  [[nodiscard]] std::vector<uint64_t> Late(Clock::time_point now);

  // Finishes a build with a result or an error, and stores the result in the result cache.
  void Finish(uint64_t number, Expected<BuildReply> reply);
  /// From now on only the local compiler may complete the build. It is late when its deadline
  /// passes.
  void KeepHere(uint64_t number);
  void FinishHere(uint64_t number, BuildReply reply, std::string why_local);
  /// Removes and returns the build that finished first. None: no build has finished.
  std::optional<Finished> Take();

  [[nodiscard]] bool any_finished() const { return !finished_.empty(); }
  [[nodiscard]] bool any_open() const { return !builds_.empty(); }
  [[nodiscard]] size_t size() const { return builds_.size() + finished_.size(); }
  /// Returns a time before which Late returns nothing.
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

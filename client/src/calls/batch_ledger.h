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
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/result_cache.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// The builds of a batch: those without an answer by their numbers, which are never used twice, and
/// the answers that nobody has taken. Answers go into the memory, which must outlive it. Not
/// thread-safe.
class BuildLedger {
 public:
  using Clock = std::chrono::steady_clock;

  struct Build {
    uint64_t tag;  ///< the program's name for it
    std::shared_ptr<RequestMessage> request;
    RequestName name;  ///< under which the answer is remembered
    Deadline deadline;
    Deadline patience;  ///< how long the daemon may take
    Clock::time_point start = Clock::now();
    bool here = false;      ///< the daemon has nothing to do with it any more
    bool apart = false;     ///< the stream does not do for it: it needs calls of its own
    bool no_files = false;  ///< in which the daemon can't ask for files
    int losses = 0;         ///< connections that were lost in the middle of it
    int repeats = 0;        ///< calls of its own that failed for what is mended before the next
    std::optional<Error> too_large = {};   ///< why the limit for one message is to be learned
    std::optional<BuildReply> reply = {};  ///< whose contents are still to be fetched
    std::string postponed = {};            ///< why the daemon wanted to be asked again later
  };
  struct Finished {
    uint64_t tag;
    Expected<TimedReply> result;
  };

  explicit BuildLedger(ResultCache* memory) : memory_(*memory) {}

  /// The build's number.
  uint64_t Add(Build build);
  void AddFinished(Finished finished) { finished_.push_back(std::move(finished)); }
  /// Null: it has its answer.
  [[nodiscard]] Build* Find(uint64_t number);
  /// Null, too, if the daemon has nothing to do with it.
  [[nodiscard]] Build* FindAsked(uint64_t number);
  /// Those without an answer,
  [[nodiscard]] std::vector<uint64_t> WithTag(uint64_t tag) const;
  /// and those that have had their time with the daemon, or all of it.
  [[nodiscard]] std::vector<uint64_t> Late(Clock::time_point now);

  // For one without an answer.
  void Finish(uint64_t number, Expected<BuildReply> reply);
  /// The daemon is not waited for any more: only its deadline counts.
  void KeepHere(uint64_t number);
  void FinishHere(uint64_t number, BuildReply reply, std::string why_local);
  /// The first that finished; none: none has.
  std::optional<Finished> Take();

  [[nodiscard]] bool any_finished() const { return !finished_.empty(); }
  [[nodiscard]] bool any_open() const { return !builds_.empty(); }
  [[nodiscard]] size_t size() const { return builds_.size() + finished_.size(); }
  /// None is late before it.
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

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "daemon/core/closure/closure_recorder.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/statistics.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A preamble that was parsed, and what was answered about files meanwhile.
struct ParsedPreamble {
  std::shared_ptr<const Precompiled> precompiled;
  ClosureRecorder::Record record;
};
using ParsedPreamblePtr = std::shared_ptr<const ParsedPreamble>;

/// Preambles by their keys: parsed in the background, one at a time, users in turn, and kept within
/// bounds. If there are too many, the user who has most gives up the one unused for longest. Nobody
/// waits for one. Thread-safe.
class PreamblePool {
 public:
  using Clock = std::chrono::steady_clock;

  struct Bounds {
    uint64_t bytes = 1ull << 30;       ///< of those that are kept; 0: none are made
    size_t preambles = 64;             ///< kept; each holds a descriptor
    uint64_t record_bytes = 4u << 20;  ///< of what one remembers about files; counts as its bytes
    /// Wishes, which wait to be parsed, and what these keep in memory. Who has too many gives up
    /// the oldest; if all have, who has most.
    size_t wanted = 256;
    uint64_t wanted_bytes = 128u << 20;
    size_t wanted_per_uid = 32;
    uint64_t wanted_bytes_per_uid = 32u << 20;
    /// For parsing one, if a compile has no less.
    std::chrono::milliseconds time{30'000};
    /// One that could not be parsed, or is too large, is not tried again for so long.
    std::chrono::seconds retry{600};
  };

  /// How a preamble is parsed.
  struct Order {
    CompileJob job;  ///< its files are the recorder
    std::shared_ptr<ClosureRecorder> recorder;
  };
  /// Called on the thread that parses.
  using MakeOrder = std::function<Order()>;

  /// `idle`: whether nothing else is compiled now; asked again some times a second, from the first
  /// wish on.
  PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
               const Bounds& bounds, std::function<bool()> idle);
  ~PreamblePool() { Stop(); }
  PreamblePool(const PreamblePool&) = delete;
  PreamblePool& operator=(const PreamblePool&) = delete;

  /// Null: it is not there.
  [[nodiscard]] ParsedPreamblePtr Find(const Digest& key);
  /// A program of this user that begins so was compiled without. The first time, the preamble is
  /// parsed once nothing else is compiled; the second time, beside what is compiled, and as that
  /// one was. `bytes`: what `make` keeps in memory.
  void Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make);
  /// It is not to be used any more: its files have changed, or a build that used it ended in a way
  /// that says nothing of it.
  void Drop(const Digest& key, const ParsedPreamblePtr& parsed);
  /// A build that it was to spare its includes failed because of it: not to be used, nor tried
  /// again soon.
  void Blame(const Digest& key, const ParsedPreamblePtr& parsed);

  /// Ends what runs and asks nobody whether anything is idle any more.
  void Stop();

 private:
  struct Wish {
    MakeOrder make;
    Account account{0};
    uint64_t bytes = 0;
    bool urgent = false;
    uint64_t age = 0;
  };
  struct Kept {
    ParsedPreamblePtr parsed;
    Account account{0};
    uint64_t bytes = 0;
    uint64_t last_use = 0;
  };
  struct Taken {
    Digest key;
    Wish wish;
  };
  using Dropped = std::vector<ParsedPreamblePtr>;
  using GivenUp = std::vector<Wish>;

  void Work(const std::stop_token& stop);
  /// The next wish that may be fulfilled now.
  std::optional<Taken> TakeWish();
  /// Null: it can't be, or not be kept. None: its files are not to be had any more, which says
  /// nothing of it.
  [[nodiscard]] std::optional<ParsedPreamblePtr> Parse(const MakeOrder& make,
                                                       const std::stop_token& stop);
  void Keep(const Taken& taken, std::optional<ParsedPreamblePtr> result);
  /// Asks each preamble whether it is usable, without mutex_: the answer may end a process.
  void DropUnusable();
  // These need mutex_.
  void Remove(const Digest& key, const ParsedPreamblePtr& parsed, Dropped* dropped);
  void NoteFailure(const Digest& key);
  /// Until this user and all keep the bounds again.
  void GiveUpWishes(Account account, GivenUp* given_up);
  void Shrink(Dropped* dropped);

  Compiler& compiler_;
  Statistics& statistics_;
  const CompileLimits limits_;
  const Bounds bounds_;
  const std::function<bool()> idle_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Digest, Wish> wishes_;  // guarded by mutex_, as all below
  std::map<Digest, Kept> kept_;
  std::map<Digest, Clock::time_point> failed_;  // until when
  std::optional<Digest> parsing_;
  uint64_t uses_ = 0;
  Account last_served_{0};
  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace cccl_cache::daemon

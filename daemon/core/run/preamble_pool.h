// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <variant>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/closure/closure_recorder.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/run/compile_memory.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A parsed preamble, and the answers about files during the parse.
struct ParsedPreamble {
  std::shared_ptr<const Precompiled> precompiled;
  ClosureRecorder::Record record;
};
using ParsedPreamblePtr = std::shared_ptr<const ParsedPreamble>;

/// Preambles by key: parsed in the background, one at a time, users in turn, and kept within
/// bounds. If there are too many, the user who has most gives up the least recently used one.
/// Thread-safe.
class PreamblePool {
 public:
  using Clock = std::chrono::steady_clock;

  struct Bounds {
    uint64_t bytes = 1ull << 30;       ///< of those that are kept; 0: none are made
    size_t preambles = 64;             ///< kept; each holds a descriptor
    uint64_t record_bytes = 4u << 20;  ///< of one record of files; counts as its bytes
    /// Bounds of keys that were missed.
    size_t missed = 4096;
    size_t missed_per_uid = 256;
    /// Bounds of waiting requests for a parse, and of their memory. Above its own bound a user
    /// loses its oldest request; above the total, the user who has most does.
    size_t wanted = 256;
    uint64_t wanted_bytes = 128u << 20;
    size_t wanted_per_uid = 32;
    uint64_t wanted_bytes_per_uid = 32u << 20;
    /// Time limit of one parse, unless that of a compile is shorter.
    std::chrono::milliseconds time{30'000};
    /// How long a preamble that could not be parsed, or is too large, is not tried again.
    std::chrono::seconds retry{600};
  };

  /// How a preamble is parsed.
  struct Order {
    CompileJob job;  ///< its files are the recorder
    std::shared_ptr<ClosureRecorder> recorder;
    /// The key is that of programs in any directory: a preamble that reads files of one is not
    /// kept.
    bool for_any_directory = false;
  };
  /// Called on the thread that parses.
  using MakeOrder = std::function<Order()>;

  /// `memory`: null: preambles are parsed whatever they need.
  PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
               const Bounds& bounds, CompileMemory* memory = nullptr);
  ~PreamblePool() { Stop(); }
  PreamblePool(const PreamblePool&) = delete;
  PreamblePool& operator=(const PreamblePool&) = delete;

  /// Returns null if it is not there.
  [[nodiscard]] ParsedPreamblePtr Find(const Digest& key);
  /// The same, but waits for a preamble that is being parsed, as long as the wait is expected to be
  /// shorter than a compile of the whole program: until the parse has taken as long as the shortest
  /// compile of this key. Leaves as much time before `deadline`. Ends early if `stop` is requested.
  [[nodiscard]] ParsedPreamblePtr Await(const Digest& key, Clock::time_point deadline,
                                        const std::stop_token& stop);
  /// Reports a miss: a program of this user that begins with this preamble is compiled without it.
  /// From the second miss since the last drop on, the preamble is parsed. `bytes`: memory that
  /// `make` holds.
  void Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make);
  /// Reports the time of such a compile.
  void NoteMiss(const Digest& key, Account account, std::chrono::microseconds time);
  /// Removes a preamble because its files have changed, or after a build whose end proves nothing
  /// about it.
  void Drop(const Digest& key, const ParsedPreamblePtr& parsed);
  /// Removes a preamble that made a build fail. It is not tried again soon.
  void Blame(const Digest& key, const ParsedPreamblePtr& parsed);

  /// Sets `preambles` and `preamble_bytes`.
  void Describe(BuildActivity* activity) const;

  /// Stops the parsing.
  void Stop();

 private:
  using Wishes = PerUserLru<Digest, MakeOrder, DigestHash, Account>;
  using Preambles = PerUserLru<Digest, ParsedPreamblePtr, DigestHash, Account>;
  struct Parsing {
    Digest key;
    Clock::time_point since;
  };

  /// Returns whether it is being parsed or will be.
  [[nodiscard]] bool IsWanted(const Digest& key) const REQUIRES(mutex_);
  void Work(const std::stop_token& stop);
  /// Blocks until there is a request for a parse. Returns none if `stop` was requested.
  std::optional<Wishes::Entry> TakeWish(const std::stop_token& stop);
  /// Returns null if the preamble can't be parsed or kept. Returns none if its files are no longer
  /// available, which does not count against the preamble.
  [[nodiscard]] std::optional<ParsedPreamblePtr> Parse(const MakeOrder& make,
                                                       const std::stop_token& stop);
  [[nodiscard]] Result<std::shared_ptr<const Precompiled>> Precompile(CompileJob& job,
                                                                      const std::stop_token& stop);
  void Keep(const Wishes::Entry& wish, std::optional<ParsedPreamblePtr> result);
  /// Drops the preambles that are not usable. Asks each without mutex_, because usable() may end a
  /// process.
  void DropUnusable();
  void Remove(const Digest& key, const ParsedPreamblePtr& parsed) REQUIRES(mutex_);
  void NoteFailure(const Digest& key) REQUIRES(mutex_);

  Compiler& compiler_;
  Statistics& statistics_;
  const CompileLimits limits_;
  const Bounds bounds_;
  CompileMemory* const memory_;  ///< may be null

  mutable Mutex mutex_;
  CondVar changed_;
  /// The time of the shortest compile of each key that was missed.
  PerUserLru<Digest, std::chrono::microseconds, DigestHash, Account> missed_ GUARDED_BY(mutex_);
  Wishes wishes_ GUARDED_BY(mutex_);
  Preambles kept_ GUARDED_BY(mutex_);
  /// Not tried again as long as they are here.
  PerUserLru<Digest, std::monostate, DigestHash> failed_ GUARDED_BY(mutex_);
  std::optional<Parsing> parsing_ GUARDED_BY(mutex_);
  Account last_served_ GUARDED_BY(mutex_){0};
  std::jthread thread_;  // last member: ends before the others are destroyed
};

}  // namespace cccl_cache::daemon

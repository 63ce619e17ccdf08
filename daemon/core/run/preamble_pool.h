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

/// A parsed preamble, and the record of files that the parse read.
struct ParsedPreamble {
  std::shared_ptr<const Precompiled> precompiled;
  ClosureRecorder::Record record;
};
using ParsedPreamblePtr = std::shared_ptr<const ParsedPreamble>;

/// The parsed preambles, by key. They are parsed in the background, one at a time, and the users
/// take turns. Beyond a limit, the user with the most preambles loses the least recently used one.
/// Thread-safe.
class PreamblePool {
 public:
  using Clock = std::chrono::steady_clock;

  struct Bounds {
    uint64_t bytes = 1ull << 30;       ///< limit of the kept preambles; 0: no preamble is made
    size_t preambles = 64;             ///< number of kept preambles; each has an open descriptor
    uint64_t record_bytes = 4u << 20;  ///< limit of one record of files, which is part of `bytes`
    /// Limits of the number of keys for which no preamble was found.
    size_t missed = 4096;
    size_t missed_per_uid = 256;
    /// Limits of the waiting requests for a parse, and of their memory. Above the limit of one
    /// user, that user's oldest request is dropped. Above the limit of all users, the oldest
    /// request of the user with the most requests is dropped.
    size_t wanted = 256;
    uint64_t wanted_bytes = 128u << 20;
    size_t wanted_per_uid = 32;
    uint64_t wanted_bytes_per_uid = 32u << 20;
    /// Time limit of one parse. If the time limit of a compile is shorter, that one applies.
    std::chrono::milliseconds time{30'000};
    /// A preamble that could not be parsed, or was too large, is not tried again for this long.
    std::chrono::seconds retry{600};
  };

  /// The parameters of a parse.
  struct Order {
    CompileJob job;  ///< `recorder` answers this job's questions about files
    std::shared_ptr<ClosureRecorder> recorder;
    /// Whether the key is for programs in any directory (Preamble::key). If so, a preamble that
    /// reads files in its program's directory is not kept.
    bool for_any_directory = false;
  };
  /// Makes the parameters when the parse begins. Called on the thread that parses.
  using MakeOrder = std::function<Order()>;

  /// `memory` may be null: preambles are then parsed without regard to their need for memory.
  PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
               const Bounds& bounds, CompileMemory* memory = nullptr);
  ~PreamblePool() { Stop(); }
  PreamblePool(const PreamblePool&) = delete;
  PreamblePool& operator=(const PreamblePool&) = delete;

  /// Returns null if no usable preamble with this key is kept.
  [[nodiscard]] ParsedPreamblePtr Find(const Digest& key);
  /// As Find, but waits while the preamble is being parsed or is next to be parsed. Waits until the
  /// parse has taken as long as the shortest compile of a whole program with this key, because a
  /// longer wait is not expected to save time. Leaves the time of such a compile before `deadline`.
  /// Returns early if `stop` is requested.
  [[nodiscard]] ParsedPreamblePtr Await(const Digest& key, Clock::time_point deadline,
                                        const std::stop_token& stop);
  /// Requests a parse, because a program of this user that begins with this preamble is compiled
  /// without it. Does nothing at the first such miss since the preamble was dropped, that is before
  /// NoteMiss was called for the key. `bytes` is the memory of `make`.
  void Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make);
  /// Reports a compile of a whole program without the preamble of this key, and its duration.
  void NoteMiss(const Digest& key, Account account, std::chrono::microseconds time);
  /// Removes a preamble because its files have changed, or because a build with it failed and the
  /// preamble may not be the cause.
  void Drop(const Digest& key, const ParsedPreamblePtr& parsed);
  /// Removes a preamble that made a build fail. It is not parsed again for Bounds::retry.
  void Blame(const Digest& key, const ParsedPreamblePtr& parsed);

  /// Sets the fields `preambles` and `preamble_bytes`.
  void Describe(BuildActivity* activity) const;

  /// Ends the parse in progress and the thread of the parser.
  void Stop();

 private:
  using Wishes = PerUserLru<Digest, MakeOrder, DigestHash, Account>;
  using Preambles = PerUserLru<Digest, ParsedPreamblePtr, DigestHash, Account>;
  struct Parsing {
    Digest key;
    Clock::time_point since;
  };

  /// Returns whether the preamble is being parsed, or a parse is requested.
  [[nodiscard]] bool IsWanted(const Digest& key) const REQUIRES(mutex_);
  void Work(const std::stop_token& stop);
  /// Blocks until there is a request for a parse. Returns none if `stop` was requested.
  std::optional<Wishes::Entry> TakeWish(const std::stop_token& stop);
  /// Returns null if the preamble can't be parsed, or must not be kept. Returns none if its files
  /// are not available any more; such a preamble may be tried again.
  [[nodiscard]] std::optional<ParsedPreamblePtr> Parse(const MakeOrder& make,
                                                       const std::stop_token& stop);
  [[nodiscard]] Result<std::shared_ptr<const Precompiled>> Precompile(CompileJob& job,
                                                                      const std::stop_token& stop);
  void Keep(const Wishes::Entry& wish, std::optional<ParsedPreamblePtr> result);
  /// Drops the preambles that are not usable any more. Calls usable() without mutex_, because that
  /// call may end a process.
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
  /// The time of the shortest compile of a whole program, for each key that had a miss.
  PerUserLru<Digest, std::chrono::microseconds, DigestHash, Account> missed_ GUARDED_BY(mutex_);
  Wishes wishes_ GUARDED_BY(mutex_);
  Preambles kept_ GUARDED_BY(mutex_);
  /// Keys of preambles that failed. They are not tried again while they are in this list.
  PerUserLru<Digest, std::monostate, DigestHash> failed_ GUARDED_BY(mutex_);
  std::optional<Parsing> parsing_ GUARDED_BY(mutex_);
  Account last_served_ GUARDED_BY(mutex_){0};
  std::jthread thread_;  // last member: it ends before the others are destroyed
};

}  // namespace cccl_cache::daemon

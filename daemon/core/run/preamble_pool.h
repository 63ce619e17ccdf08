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

/// Preambles by key. They are parsed in the background, one at a time, users in turn, and kept
/// within limits. Beyond a limit, the user with the most preambles loses the least recently used
/// one. Thread-safe.
class PreamblePool {
 public:
  using Clock = std::chrono::steady_clock;

  struct Bounds {
    uint64_t bytes = 1ull << 30;       ///< of the kept preambles; 0: none are made
    size_t preambles = 64;             ///< number of kept preambles; each holds a descriptor
    uint64_t record_bytes = 4u << 20;  ///< limit of one record of files; counts as its bytes
    /// Limits of the keys that were missed.
    size_t missed = 4096;
    size_t missed_per_uid = 256;
    /// Limits of the waiting requests for a parse, and of their memory. Above its own limit a user
    /// loses its oldest request. Above the total, the user with the most requests loses its oldest.
    size_t wanted = 256;
    uint64_t wanted_bytes = 128u << 20;
    size_t wanted_per_uid = 32;
    uint64_t wanted_bytes_per_uid = 32u << 20;
    /// Time limit of one parse, unless the limit of a compile is shorter.
    std::chrono::milliseconds time{30'000};
    /// How long to wait before a preamble that could not be parsed, or was too large, is tried
    /// again.
    std::chrono::seconds retry{600};
  };

  /// The parameters of a parse.
  struct Order {
    CompileJob job;  ///< the recorder answers its questions about files
    std::shared_ptr<ClosureRecorder> recorder;
    /// Whether the key is for programs in any directory. A preamble that reads files of its
    /// program's directory is not kept then.
    bool for_any_directory = false;
  };
  /// Called on the thread of the parser.
  using MakeOrder = std::function<Order()>;

  /// Without `memory` (null), preambles are parsed regardless of their need.
  PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
               const Bounds& bounds, CompileMemory* memory = nullptr);
  ~PreamblePool() { Stop(); }
  PreamblePool(const PreamblePool&) = delete;
  PreamblePool& operator=(const PreamblePool&) = delete;

  /// Returns null if there is no such preamble.
  [[nodiscard]] ParsedPreamblePtr Find(const Digest& key);
  /// As Find, but waits for a preamble in the parser, as long as the wait is expected to be shorter
  /// than a compile of the whole program: until the parse has taken as long as the shortest compile
  /// with this key. Leaves as much time before `deadline`. Ends early if `stop` is requested.
  [[nodiscard]] ParsedPreamblePtr Await(const Digest& key, Clock::time_point deadline,
                                        const std::stop_token& stop);
  /// Reports a miss: a program of this user that begins with this preamble is compiled without it.
  /// After the second miss since the last drop, the preamble is parsed. `bytes` is the memory of
  /// `make`.
  void Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make);
  /// Reports the time of such a compile.
  void NoteMiss(const Digest& key, Account account, std::chrono::microseconds time);
  /// Removes a preamble because its files have changed, or after a build whose end proves nothing
  /// about it.
  void Drop(const Digest& key, const ParsedPreamblePtr& parsed);
  /// Removes a preamble that made a build fail. It is not tried again for a while.
  void Blame(const Digest& key, const ParsedPreamblePtr& parsed);

  /// Sets `preambles` and `preamble_bytes`.
  void Describe(BuildActivity* activity) const;

  /// Stops the parser.
  void Stop();

 private:
  using Wishes = PerUserLru<Digest, MakeOrder, DigestHash, Account>;
  using Preambles = PerUserLru<Digest, ParsedPreamblePtr, DigestHash, Account>;
  struct Parsing {
    Digest key;
    Clock::time_point since;
  };

  /// Returns whether the preamble is in the parser or requested.
  [[nodiscard]] bool IsWanted(const Digest& key) const REQUIRES(mutex_);
  void Work(const std::stop_token& stop);
  /// Blocks until there is a request for a parse. Returns none if `stop` was requested.
  std::optional<Wishes::Entry> TakeWish(const std::stop_token& stop);
  /// Returns null if the preamble can't be parsed or kept. Returns none if its files are not
  /// available any more, which does not count against the preamble.
  [[nodiscard]] std::optional<ParsedPreamblePtr> Parse(const MakeOrder& make,
                                                       const std::stop_token& stop);
  [[nodiscard]] Result<std::shared_ptr<const Precompiled>> Precompile(CompileJob& job,
                                                                      const std::stop_token& stop);
  void Keep(const Wishes::Entry& wish, std::optional<ParsedPreamblePtr> result);
  /// Drops the preambles that are not usable any more. Asks each without mutex_, because usable()
  /// may end a process.
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
  /// The time of the shortest compile of each missed key.
  PerUserLru<Digest, std::chrono::microseconds, DigestHash, Account> missed_ GUARDED_BY(mutex_);
  Wishes wishes_ GUARDED_BY(mutex_);
  Preambles kept_ GUARDED_BY(mutex_);
  /// Preambles that are not tried again as long as they are here.
  PerUserLru<Digest, std::monostate, DigestHash> failed_ GUARDED_BY(mutex_);
  std::optional<Parsing> parsing_ GUARDED_BY(mutex_);
  Account last_served_ GUARDED_BY(mutex_){0};
  std::jthread thread_;  // last member, so that it ends before the others are destroyed
};

}  // namespace cccl_cache::daemon

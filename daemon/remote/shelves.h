// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/shelf.h"
#include "daemon/remote/trust_list.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// Shelves: read-only directories of signed snapshots. They are searched before the other nodes are
/// asked. If a shelf hangs, builds wait for it only until the first reads take too long. Then the
/// shelf is skipped until a read ends. Thread-safe.
class Shelves final : public Cluster {
 public:
  struct Options {
    std::vector<std::string> directories;          ///< in the order of the search
    std::chrono::milliseconds patience{20};        ///< a build's limit for Redis; the limit for a
                                                   ///< shelf is a multiple
    uint64_t entry_limit = 8 << 20;                ///< in bytes; larger entries are ignored
    std::function<void(std::string_view)> report;  ///< messages for the operator
  };

  /// Starts to read the directories, and returns at once. `others` is asked for entries that no
  /// shelf has, and may be null. `others` and `statistics` must outlive this object.
  Shelves(Options options, std::shared_ptr<const TrustList> trusted, Statistics& statistics,
          Cluster* others);
  ~Shelves() override;

  bool Ask(Question question, const std::stop_token& ended, Asker asker) override;
  void Peek(Question question, std::function<void(Peeked)> told) override;
  void LooksOutside(const Digest& compile, uid_t uid) override;
  void Share(const EntryName& name, const SharedEntry& entry, Account account) override;
  void Forget(const EntryName& name) override;
  void Close() override;

  /// Starts to read the directories again. Returns at once.
  void LookAgain();
  /// Replaces the trusted keys. A snapshot is used only if one of them has signed it.
  void Trust(std::shared_ptr<const TrustList> trusted);

  [[nodiscard]] ShelfGauges gauges() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// One directory, and the state of the last search in it.
  struct Place {
    Place(std::string path, std::chrono::milliseconds longest_read);
    const std::string directory;
    std::shared_ptr<const Shelf> shelf;
    bool is_looked_at = false;
    std::optional<Clock::time_point> unanswered_since;  ///< start of the first search without an
                                                        ///< answer
    bool silence_is_reported = false;
    BlockingPool reads;
    BlockingPool looks;
  };
  struct Open {
    Question question;
    std::stop_token ended;
    Asker asker;
  };
  using OpenPtr = std::shared_ptr<const Open>;

  /// Asks the first shelf that may have an entry and has room for the question, from number `place`
  /// on. If there is no such shelf, asks `others_`. Returns false, and calls no callback, if
  /// `others_` is null or can't be asked either.
  bool AskFrom(size_t place, const OpenPtr& open);
  void AskNext(size_t place, const OpenPtr& open);
  /// Returns the first shelf, from number `place` on, whose index has any of the entries. Sets
  /// `place` to the number of that shelf. Returns null if there is none.
  std::shared_ptr<const Shelf> FindShelf(const std::vector<EntryName>& entries, size_t* place);
  /// A look-up for Peek(), which only explains a build.
  struct Peeking {
    Question question;
    TierLook look;                   ///< the result of all shelves together
    std::vector<SharedEntry> found;  ///< the entries that were found so far
    std::function<void(Peeked)> told;
  };
  void PeekFrom(size_t place, const std::shared_ptr<Peeking>& peeking);
  [[nodiscard]] std::chrono::milliseconds longest_read() const;
  [[nodiscard]] std::shared_ptr<const TrustList> trusted() const;
  void Keep(Place& place, std::shared_ptr<const Shelf> shelf);
  /// Returns for how long this directory has not answered. 0 if it answers, or if it has not
  /// answered for less than kSilentAfter.
  [[nodiscard]] std::chrono::seconds SilenceOf(const Place& place) const REQUIRES(mutex_);
  void ReportSilence(Place& place);
  void Report(std::string_view text) const;

  const Options options_;
  Statistics& statistics_;
  Cluster* const others_;
  mutable Mutex mutex_;  ///< also guards the members of each Place that change
  std::shared_ptr<const TrustList> trusted_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Place>> places_;  ///< last member, because its threads use the
                                                ///< members above
};

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/store_upkeep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/lookup/manifest.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::steady_clock;
using std::chrono::sys_seconds;

/// Maximum number of entries that are listed at a time, which bounds the memory of a call.
constexpr size_t kPortion = RocksdbStore::kMaxEvicted;

/// Reports the progress of a call to its caller, the first time after 1 s. The pause between two
/// reports is at least 1% of the time that the call has run, so that a long call sends few
/// messages.
template <typename Numbers>
class Reporter {
 public:
  Reporter(const Upkeep::Progress<Numbers>& progress, const std::stop_token& left)
      : progress_(progress), left_(left) {}

  /// Reports progress if it is due, so it must be called often. If it returns an error, the call
  /// must end: its caller has left, or the report failed.
  [[nodiscard]] Status Tell(const Numbers& so_far) {
    if (left_.stop_requested()) return Error{ErrorCode::kCancelled, "the caller left"};
    const auto now = steady_clock::now();
    if (now - told_ <
        std::max<steady_clock::duration>(std::chrono::seconds(1), (now - begin_) / 100)) {
      return Ok{};
    }
    told_ = now;
    return progress_(so_far);
  }
  [[nodiscard]] const std::stop_token& left() const { return left_; }

 private:
  const Upkeep::Progress<Numbers>& progress_;
  const std::stop_token& left_;
  const steady_clock::time_point begin_ = steady_clock::now();
  steady_clock::time_point told_ = begin_;
};

void Add(TierSize& to, const TierSize& size) {
  to.entries += size.entries;
  to.bytes += size.bytes;
}

/// Returns the row key at which the next portion starts if this is the last key of a portion.
std::string Behind(const Digest& key) { return std::string(key.View()) + '\0'; }

/// Calls `use` with all entries in the database, in portions. An error of `use` ends the loop.
template <typename Use>
Status ForEachPortion(RocksdbStore& disk, Use use) {
  for (std::string next;;) {
    const auto listed = disk.List(next, kPortion);
    if (!listed) return listed.error();
    if (listed->empty()) return Ok{};
    next = Behind(listed->back().key);
    if (Status used = use(*listed); !used) return used;
  }
}

/// Like ForEachPortion, but for the private entries of all users. `use` also gets the uid.
template <typename Use>
Status ForEachPrivatePortion(PrivateStore& own, Use use) {
  for (const uid_t uid : own.Users()) {
    for (std::string next;;) {
      const auto listed = own.List(uid, next, kPortion);
      if (listed.empty()) break;
      next = Behind(listed.back().key);
      if (Status used = use(uid, listed); !used) return used;
    }
  }
  return Ok{};
}

/// Calls `use` with the record of each deposit of each user. An error of `use` ends the loop.
template <typename Use>
Status ForEachDeposit(const Deposits& deposits, Use use) {
  for (const uid_t uid : deposits.Users()) {
    for (std::optional<Digest> after;;) {
      const std::vector<DepositRecord> listed = deposits.List(uid, after, kPortion);
      if (listed.empty()) break;
      after = listed.back().key;
      for (const DepositRecord& record : listed) {
        if (Status used = use(record); !used) return used;
      }
    }
  }
  return Ok{};
}

Error Ambiguous(std::string_view what, const DigestPrefix& prefix) {
  return {ErrorCode::kInvalidRequest,
          fmt::format("several {} begin with {}: give more digits", what, prefix.hex)};
}

/// One call of Evict. Not thread-safe.
class Eviction {
 public:
  Eviction(const StoreUpkeep::Parts& parts, Reporter<TierSize> reporter)
      : parts_(parts), reporter_(std::move(reporter)) {}

  [[nodiscard]] Status Run(const EvictionFilter& filter) {
    if (filter.all) return All();
    if (filter.unused_for) return Unused(*filter.unused_for);
    return filter.toolchain ? OfToolchain(*filter.toolchain) : Keys(filter.keys);
  }
  /// Returns the size of the entries evicted so far.
  [[nodiscard]] const TierSize& evicted() const { return evicted_; }

 private:
  [[nodiscard]] Status All() {
    for (const Digest& key : parts_.disk.Queued()) {
      if (Status added = Evict(key); !added) return added;
    }
    if (Status flushed = Flush(); !flushed) return flushed;
    Status walked = ForEachPortion(parts_.disk, [this](const auto& listed) -> Status {
      for (const auto& entry : listed) waiting_.insert(entry.key);
      return Flush();
    });
    if (!walked) return walked;
    walked = ForEachPrivatePortion(parts_.disk.own(), [this](uid_t uid, const auto& listed) {
      std::vector<Digest> keys;
      for (const auto& entry : listed) keys.push_back(entry.key);
      return EvictOwn(uid, keys);
    });
    if (!walked) return walked;
    // Memory is emptied after the disk. Otherwise a hit could copy an entry into memory again that
    // is still on the disk.
    EvictFromMemory(sys_seconds::max());
    if (walked = EvictDeposits(sys_seconds::max()); !walked) return walked;
    return parts_.disk.FreeSpace(reporter_.left());
  }

  [[nodiscard]] Status Unused(std::chrono::seconds age) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const sys_seconds before = now - std::min(age, now.time_since_epoch());
    Status walked = ForEachPortion(parts_.disk, [&](const auto& listed) -> Status {
      for (const auto& entry : listed) {
        if (entry.usage.last_use >= before) continue;
        const auto in_memory = parts_.memory.LastUse(entry.key);
        if (!in_memory || *in_memory < before) waiting_.insert(entry.key);
      }
      return Flush();
    });
    if (!walked) return walked;
    EvictFromMemory(before);
    return EvictDeposits(before);
  }

  [[nodiscard]] Status OfToolchain(const DigestPrefix& prefix) {
    AnsweredBuilds& answered = parts_.disk.answered();
    std::set<Digest> ids;
    const std::vector<uid_t> users = answered.Users();
    for (const uid_t uid : users) {
      for (const AnsweredBuild& build : answered.Of(uid)) {
        if (prefix.Matches(build.toolchain)) ids.insert(build.toolchain);
      }
    }
    if (ids.size() > 1) return Ambiguous("toolchains", prefix);
    if (ids.empty()) {
      return Error{ErrorCode::kInvalidRequest,
                   fmt::format("no result that a user received is known to be of a toolchain whose "
                               "id begins with {}: `cccl-cache-cli toolchains --json` lists ids",
                               prefix.hex)};
    }
    for (const uid_t uid : users) {
      for (const AnsweredBuild& build : answered.Of(uid)) {
        if (build.toolchain != *ids.begin()) continue;
        const std::vector<Digest> keys = {build.key, ManifestKey(build.fingerprint)};
        for (const Digest& key : keys) {
          if (Status evicted = Evict(key); !evicted) return evicted;
        }
        if (Status evicted = EvictOwn(uid, keys); !evicted) return evicted;
      }
    }
    return Flush();
  }

  [[nodiscard]] Status Keys(const std::vector<DigestPrefix>& prefixes) {
    std::set<Digest> keys;
    for (const DigestPrefix& prefix : prefixes) {
      const Result<std::optional<Digest>> key = Resolve(prefix);
      if (!key) return key.error();
      if (*key) keys.insert(**key);
    }
    for (const Digest& key : keys) {
      if (Status evicted = Evict(key); !evicted) return evicted;
      for (const uid_t uid : parts_.disk.own().Users()) {
        if (Status evicted = EvictOwn(uid, {key}); !evicted) return evicted;
      }
    }
    return Flush();
  }

  /// Returns the key that begins with these digits, or none if no entry has such a key. Returns an
  /// error if several entries have one.
  [[nodiscard]] Result<std::optional<Digest>> Resolve(const DigestPrefix& prefix) {
    if (const auto whole = Digest::FromHex(prefix.hex)) return whole;
    std::set<Digest> keys;
    const auto add = [&](const Digest& key) {
      if (prefix.Matches(key)) keys.insert(key);
    };
    const Digest first = prefix.First();
    std::ranges::for_each(parts_.disk.Queued(), add);
    const auto written = parts_.disk.List(first.View(), 2);
    if (!written) return written.error();
    for (const auto& entry : *written) add(entry.key);
    for (const uid_t uid : parts_.disk.own().Users()) {
      for (const auto& entry : parts_.disk.own().List(uid, first.View(), 2)) add(entry.key);
    }
    // An entry may be only in memory. Its key is then known only from the answered builds.
    AnsweredBuilds& answered = parts_.disk.answered();
    for (const uid_t uid : answered.Users()) {
      for (const Digest& key : answered.KeysWith(uid, prefix, kPortion)) {
        if (parts_.memory.Holds(key)) add(key);
      }
    }
    if (keys.size() > 1) return Ambiguous("keys", prefix);
    return keys.empty() ? std::nullopt : std::optional(*keys.begin());
  }

  [[nodiscard]] Status Evict(const Digest& key) {
    waiting_.insert(key);
    return waiting_.size() < kPortion ? Status(Ok{}) : Flush();
  }

  /// Evicts the entries in memory that were last used before `before`. Counts only those that the
  /// disk does not have, too.
  void EvictFromMemory(sys_seconds before) {
    parts_.memory.RemoveUnusedSince(before, [this](const Digest& key, uint64_t bytes) {
      if (!parts_.disk.Holds(key)) NoteAlone(key, bytes);
    });
  }

  /// Counts and records the eviction of an entry that was only in memory, because it was too large
  /// for the disk or the disk was full.
  void NoteAlone(const Digest& key, uint64_t bytes) {
    parts_.eviction_log.Note(key, EvictionCause::kEvicted);
    Add(evicted_, {1, bytes});
  }

  /// Evicts the entries in waiting_ from memory and from the disk.
  [[nodiscard]] Status Flush() {
    const std::vector<Digest> keys(waiting_.begin(), waiting_.end());
    waiting_.clear();
    for (const Digest& key : keys) {
      if (!parts_.memory.Holds(key) || parts_.disk.Holds(key)) continue;
      const ArtifactPtr alone = parts_.memory.Get(key);
      if (alone != nullptr) NoteAlone(key, alone->Footprint());
    }
    const Result<TierSize> evicted = parts_.disk.Evict(keys);
    if (!evicted) return evicted.error();
    for (const Digest& key : keys) parts_.memory.Remove(key);
    Add(evicted_, *evicted);
    return reporter_.Tell(evicted_);
  }

  [[nodiscard]] Status EvictOwn(uid_t uid, const std::vector<Digest>& keys) {
    if (std::ranges::none_of(
            keys, [&](const Digest& key) { return parts_.disk.own().MayHave(uid, key); })) {
      return Ok{};
    }
    const Result<TierSize> evicted = parts_.disk.own().Remove(uid, keys);
    if (!evicted) return evicted.error();
    if (evicted->entries > 0) {
      for (const Digest& key : keys) parts_.eviction_log.Note(key, EvictionCause::kEvicted);
    }
    Add(evicted_, *evicted);
    return reporter_.Tell(evicted_);
  }

  [[nodiscard]] Status EvictDeposits(sys_seconds before) {
    return ForEachDeposit(parts_.deposits, [&](const DepositRecord& record) -> Status {
      if (record.used >= before) return Ok{};
      if (parts_.deposits.Remove(record.key, record.uid)) {
        Add(evicted_, {1, DepositIndex::Charge(record.size)});
      }
      return reporter_.Tell(evicted_);
    });
  }

  const StoreUpkeep::Parts& parts_;
  Reporter<TierSize> reporter_;
  std::set<Digest> waiting_;  ///< keys of the entries that the next Flush evicts
  TierSize evicted_;
};

/// One call of Verify. Not thread-safe.
class Verification {
 public:
  Verification(const StoreUpkeep::Parts& parts, Reporter<Verified> reporter)
      : parts_(parts), reporter_(std::move(reporter)) {}

  [[nodiscard]] Result<Verified> Run() {
    verified_.all = parts_.disk.size();
    Add(verified_.all, parts_.deposits.gauges().kept);
    PrivateStore& own = parts_.disk.own();
    Status walked = ForEachPrivatePortion(own, [this](uid_t, const auto& listed) {
      for (const auto& entry : listed) Add(verified_.all, {1, entry.bytes});
      return reporter_.Tell(verified_);
    });
    if (!walked) return walked.error();
    parts_.disk.DropCache();
    walked = ForEachPortion(parts_.disk, [this](const auto& listed) {
      return NoteEach(listed, [this](const auto& entry) {
        return Note(entry.usage.bytes, parts_.disk.Verify(entry.key));
      });
    });
    if (!walked) return walked.error();
    walked = ForEachPrivatePortion(own, [this, &own](uid_t uid, const auto& listed) {
      return NoteEach(listed, [this, &own, uid](const auto& entry) {
        return Note(entry.bytes, own.Verify(uid, entry.key));
      });
    });
    if (!walked) return walked.error();
    walked = ForEachDeposit(parts_.deposits, [this](const DepositRecord& record) {
      const Result<bool> sound = parts_.deposits.Verify(record.key);
      const Soundness found = !sound   ? Soundness::kUnreadable
                              : *sound ? Soundness::kSound
                                       : Soundness::kBroken;
      return Note(DepositIndex::Charge(record.size), found);
    });
    if (!walked) return walked.error();
    return verified_;
  }

 private:
  template <typename Listed, typename Verify>
  [[nodiscard]] static Status NoteEach(const Listed& listed, Verify verify) {
    for (const auto& entry : listed) {
      if (Status noted = verify(entry); !noted) return noted;
    }
    return Ok{};
  }
  [[nodiscard]] Status Note(uint64_t bytes, Soundness soundness) {
    Add(verified_.read, {1, bytes});
    if (soundness == Soundness::kBroken) ++verified_.broken;
    if (soundness == Soundness::kUnreadable) ++verified_.unreadable;
    return reporter_.Tell(verified_);
  }

  const StoreUpkeep::Parts& parts_;
  Reporter<Verified> reporter_;
  Verified verified_;
};

std::string_view NameOf(const EvictionFilter& filter) {
  if (filter.all) return "all";
  if (filter.unused_for) return "unused";
  return filter.toolchain ? "of a toolchain" : "by key";
}

Error Busy() {
  return {ErrorCode::kOverloaded,
          "another eviction or verification goes through the store: wait for its end"};
}

}  // namespace

Result<TierSize> StoreUpkeep::Evict(const Peer& caller, const EvictionFilter& filter,
                                    const Progress<TierSize>& progress,
                                    const std::stop_token& left) {
  if (busy_.exchange(true)) return Busy();
  Eviction eviction(parts_, Reporter<TierSize>(progress, left));
  const Status ended = eviction.Run(filter);
  busy_ = false;
  const TierSize evicted = eviction.evicted();
  parts_.report(fmt::format("user {} evicted {} entries ({}), {} bytes{}", caller.uid,
                            evicted.entries, NameOf(filter), evicted.bytes,
                            ended ? "" : ", and was told: " + ended.error().message));
  if (!ended) return ended.error();
  return evicted;
}

Result<Verified> StoreUpkeep::Verify(const Peer& caller, const Progress<Verified>& progress,
                                     const std::stop_token& left) {
  if (busy_.exchange(true)) return Busy();
  const Result<Verified> verified = Verification(parts_, Reporter<Verified>(progress, left)).Run();
  busy_ = false;
  if (verified) {
    parts_.report(
        fmt::format("user {} had {} entries verified: {} broken and dropped, {} unreadable",
                    caller.uid, verified->read.entries, verified->broken, verified->unreadable));
  }
  return verified;
}

}  // namespace cccl_cache::daemon

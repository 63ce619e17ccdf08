// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/shelves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {
namespace {

// A build waits for a shelf this many times as long as for Redis, because a read from a shared file
// system takes some ms if the page is in no cache.
constexpr int kPatienceOfRedis = 10;
constexpr size_t kMaxReported = 10;  // limit of the problems that are reported after one search
// If a directory does not answer for this long, that is reported to the operator.
constexpr std::chrono::seconds kSilentAfter{5};
// Searches of the directories are made for all users and have this account.
constexpr Account kDaemon{0};
// Time limit of one search. The index of a directory has at most some 60 MB.
constexpr std::chrono::minutes kLongestLook{10};

/// Adds the closures of the manifest in `entries` to the manifest in `found`. The manifest is the
/// last of several entries.
void AddManifests(const std::vector<SharedEntry>& entries, std::vector<SharedEntry>* found) {
  found->resize(std::max(found->size(), entries.size()));
  if (entries.empty() || entries.back().manifest == nullptr) return;
  found->back() = Merged(found->back(), entries.back());
}

}  // namespace

Shelves::Place::Place(std::string path, std::chrono::milliseconds longest_read)
    : directory(std::move(path)),
      shelf(std::make_shared<const Shelf>()),
      reads({.name = "shelf reads",
             .awaited = "a shelf",
             .threads_per_uid = 4,
             .time = longest_read,
             .look_time = longest_read}),
      looks({.name = "shelf looks",
             .awaited = "a shelf",
             .threads_per_uid = 1,
             .time = kLongestLook}) {}

Shelves::Shelves(Options options, std::shared_ptr<const TrustList> trusted, Statistics& statistics,
                 Cluster* others)
    : options_(std::move(options)),
      statistics_(statistics),
      others_(others),
      trusted_(std::move(trusted)) {
  for (const std::string& directory : options_.directories) {
    places_.push_back(std::make_unique<Place>(directory, longest_read()));
  }
  LookAgain();
}

Shelves::~Shelves() {
  for (const auto& place : places_) {
    place->looks.Close();
    place->reads.Close();
  }
}

void Shelves::Close() {
  for (const auto& place : places_) {
    place->looks.Close();
    place->reads.Close();
  }
  if (others_ != nullptr) others_->Close();
}

void Shelves::LookAgain() {
  for (const auto& each : places_) {
    Place& place = *each;
    ReportSilence(place);
    std::shared_ptr<const TrustList> trusted;
    std::shared_ptr<const Shelf> before;
    {
      const MutexLock lock(mutex_);
      if (std::exchange(place.is_looked_at, true)) continue;
      if (!place.unanswered_since) place.unanswered_since = Clock::now();
      trusted = trusted_;
      before = place.shelf;
    }
    const auto now = std::make_shared<std::shared_ptr<const Shelf>>();
    const auto end = [this, &place, now] { Keep(place, std::move(*now)); };
    const Status added = place.looks.Add(
        kDaemon,
        {.look =
             [directory = place.directory, trusted, before, now, limit = options_.entry_limit] {
               *now = Shelf::LookAt(directory, {trusted, limit}, before.get());
             },
         .then = end,
         .late = [this, &place] { Keep(place, nullptr); }});
    if (!added) Keep(place, nullptr);
  }
}

void Shelves::Keep(Place& place, std::shared_ptr<const Shelf> shelf) {
  std::shared_ptr<const Shelf> before;
  bool was_silent = false;
  {
    const MutexLock lock(mutex_);
    place.is_looked_at = false;
    if (shelf == nullptr) return;
    before = std::exchange(place.shelf, shelf);
    place.unanswered_since.reset();
    was_silent = std::exchange(place.silence_is_reported, false);
  }
  if (was_silent) Report(fmt::format("the shelf {} answers again", place.directory));
  // The old state is destroyed on a thread of the pool, because closing a file on a hung mount
  // blocks too.
  (void)place.looks.Add(kDaemon, {.look = [before] {}, .then = [] {}, .late = [] {}});
  size_t reported = 0;
  for (const std::string& problem : shelf->problems()) {
    if (std::ranges::find(before->problems(), problem) != before->problems().end()) continue;
    if (++reported > kMaxReported) break;
    Report("not used from a shelf: " + problem);
  }
}

std::chrono::seconds Shelves::SilenceOf(const Place& place) const {
  if (!place.unanswered_since) return {};
  const auto silence = Clock::now() - *place.unanswered_since;
  return silence < kSilentAfter ? std::chrono::seconds(0)
                                : std::chrono::floor<std::chrono::seconds>(silence);
}

void Shelves::ReportSilence(Place& place) {
  std::chrono::seconds silence;
  {
    const MutexLock lock(mutex_);
    silence = SilenceOf(place);
    if (silence.count() == 0 || std::exchange(place.silence_is_reported, true)) return;
  }
  Report(
      fmt::format("the shelf {} has not been read for {} s: see whether its file system is mounted "
                  "and its server answers, or is slow; builds continue without it until it is read",
                  place.directory, silence.count()));
}

void Shelves::Report(std::string_view text) const {
  if (options_.report) options_.report(text);
}

void Shelves::Trust(std::shared_ptr<const TrustList> trusted) {
  {
    const MutexLock lock(mutex_);
    trusted_ = std::move(trusted);
  }
  LookAgain();
}

ShelfGauges Shelves::gauges() const {
  ShelfGauges gauges{.shelves = places_.size()};
  const MutexLock lock(mutex_);
  for (const auto& place : places_) {
    gauges.snapshots += place->shelf->snapshots();
    gauges.entries += place->shelf->entries();
    gauges.problems += place->shelf->problems().size();
    const std::chrono::seconds silence = SilenceOf(*place);
    if (silence.count() > 0) ++gauges.silent;
    gauges.silence = std::max(gauges.silence, silence);
  }
  return gauges;
}

bool Shelves::Ask(Question question, const std::stop_token& ended, Asker asker) {
  return AskFrom(0,
                 std::make_shared<const Open>(Open{std::move(question), ended, std::move(asker)}));
}

bool Shelves::AskFrom(size_t place, const OpenPtr& open) {
  while (const auto shelf = FindShelf(open->question.entries, &place)) {
    const auto reading = std::make_shared<Shelf::Reading>();
    const auto ends = [this, open, reading] {
      statistics_.Add(Counter::kShelfRefused, reading->refused);
      const bool any =
          std::ranges::any_of(reading->entries, [](const auto& entry) { return bool(entry); });
      return open->ended.stop_requested() ||
             (any && open->asker.found({TierName::kShelf, reading->entries}));
    };
    const auto then = [this, place, open, ends] {
      if (!ends()) AskNext(place + 1, open);
    };
    const auto late = [this, place, open] {
      statistics_.Add(Counter::kShelfLate);
      AskNext(place + 1, open);
    };
    const Status added = places_[place]->reads.Add(
        open->question.account,
        {.look = [shelf, trusted = trusted(), entries = open->question.entries,
                  reading] { *reading = shelf->Read(entries, *trusted); },
         .then = then,
         .late = late,
         .after_late = [ends] { static_cast<void>(ends()); }});
    if (added) return true;
    ++place;
  }
  return others_ != nullptr && others_->Ask(open->question, open->ended, open->asker);
}

std::shared_ptr<const Shelf> Shelves::FindShelf(const std::vector<EntryName>& entries,
                                                size_t* place) {
  for (; *place < places_.size(); ++*place) {
    std::shared_ptr<const Shelf> shelf;
    {
      const MutexLock lock(mutex_);
      shelf = places_[*place]->shelf;
    }
    if (shelf->HoldsAny(entries)) return shelf;
  }
  return nullptr;
}

void Shelves::Peek(Question question, std::function<void(Peeked)> told) {
  PeekFrom(0, std::make_shared<Peeking>(Peeking{
                  std::move(question), {TierName::kShelf, TierFinding::kNoEntry}, {}, told}));
}

void Shelves::PeekFrom(size_t place, const std::shared_ptr<Peeking>& peeking) {
  while (const auto shelf = FindShelf(peeking->question.entries, &place)) {
    const auto reading = std::make_shared<Shelf::Reading>();
    const auto then = [this, place, peeking, reading] {
      if (reading->entries.front()) {
        return peeking->told({.tier = TierName::kShelf,
                              .finding = TierFinding::kHasIt,
                              .found = std::move(reading->entries)});
      }
      if (reading->refused > 0) {
        if (peeking->question.counted) statistics_.Add(Counter::kShelfRefused, reading->refused);
        peeking->look = {TierName::kShelf, TierFinding::kRefused,
                         "its bytes are not what was signed, or its signer is revoked"};
      }
      AddManifests(reading->entries, &peeking->found);
      PeekFrom(place + 1, peeking);
    };
    const auto late = [this, place, peeking] {
      if (peeking->question.counted) statistics_.Add(Counter::kShelfLate);
      peeking->look = {TierName::kShelf, TierFinding::kNoAnswer,
                       fmt::format("a build waits {} ms for it", longest_read().count())};
      PeekFrom(place + 1, peeking);
    };
    const Status added = places_[place]->reads.Add(
        peeking->question.account,
        {.look = [shelf, trusted = trusted(), entries = peeking->question.entries,
                  reading] { *reading = shelf->Read(entries, *trusted); },
         .then = then,
         .late = late});
    if (added) return;
    peeking->look = {TierName::kShelf, TierFinding::kNoAnswer, added.error().message};
    ++place;
  }
  const auto both = [peeking](Peeked peeked) {
    peeked.before.insert(peeked.before.begin(), peeking->look);
    AddManifests(peeking->found, &peeked.found);
    peeking->told(std::move(peeked));
  };
  if (others_ == nullptr) return both({.finding = TierFinding::kNotConfigured});
  others_->Peek(peeking->question, both);
}

std::chrono::milliseconds Shelves::longest_read() const {
  return options_.patience * kPatienceOfRedis;
}

std::shared_ptr<const TrustList> Shelves::trusted() const {
  const MutexLock lock(mutex_);
  return trusted_;
}

void Shelves::AskNext(size_t place, const OpenPtr& open) {
  if (!AskFrom(place, open)) open->asker.compile();
}

void Shelves::LooksOutside(const Digest& compile, uid_t uid) {
  if (others_ != nullptr) others_->LooksOutside(compile, uid);
}

void Shelves::Share(const EntryName& name, const SharedEntry& entry, Account account) {
  if (others_ != nullptr) others_->Share(name, entry, account);
}

void Shelves::Forget(const EntryName& name) {
  if (others_ != nullptr) others_->Forget(name);
}

}  // namespace cccl_cache::daemon

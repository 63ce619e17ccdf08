// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/shelves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {
namespace {

// Reads are for all users, so they count on the daemon's own account.
constexpr Account kAccount{0};
// A build waits so many times longer behind others' reads than one read may take.
constexpr int kReadsInLine = 10;
// An index has at most some 60 MB, which a slow file system gives within this time.
constexpr std::chrono::minutes kLongestLook{10};

}  // namespace

Shelves::Place::Place(std::string path, std::chrono::milliseconds patience)
    : directory(std::move(path)),
      shelf(std::make_shared<const Shelf>()),
      reads({.awaited = "a shelf",
             .threads_per_uid = 4,
             .time = patience * kReadsInLine,
             .look_time = patience}),
      looks({.awaited = "a shelf", .threads_per_uid = 1, .time = kLongestLook}) {}

Shelves::Shelves(Options options, std::shared_ptr<const TrustList> trusted, Statistics& statistics,
                 Cluster* others)
    : options_(std::move(options)),
      statistics_(statistics),
      others_(others),
      trusted_(std::move(trusted)) {
  for (const std::string& directory : options_.directories) {
    places_.push_back(std::make_unique<Place>(directory, options_.patience));
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
    std::shared_ptr<const TrustList> trusted;
    std::shared_ptr<const Shelf> before;
    {
      const MutexLock lock(mutex_);
      if (std::exchange(place.is_looked_at, true)) continue;
      trusted = trusted_;
      before = place.shelf;
    }
    const auto now = std::make_shared<std::shared_ptr<const Shelf>>();
    const auto end = [this, &place, now] { Keep(place, std::move(*now)); };
    const Status added = place.looks.Add(
        kAccount, {.look = [directory = place.directory, trusted, before,
                            now] { *now = Shelf::LookAt(directory, *trusted, before.get()); },
                   .then = end,
                   .late = [this, &place] { Keep(place, nullptr); }});
    if (!added) Keep(place, nullptr);
  }
}

void Shelves::Keep(Place& place, std::shared_ptr<const Shelf> shelf) {
  std::shared_ptr<const Shelf> before;
  {
    const MutexLock lock(mutex_);
    place.is_looked_at = false;
    if (shelf == nullptr) return;
    before = std::exchange(place.shelf, shelf);
  }
  for (const std::string& problem : shelf->problems()) {
    if (std::ranges::find(before->problems(), problem) != before->problems().end()) continue;
    if (options_.report) options_.report("not used from a shelf: " + problem);
  }
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
    const auto found = [this, place, open, reading] {
      statistics_.Add(Counter::kShelfRefused, reading->refused);
      const bool any =
          std::ranges::any_of(reading->entries, [](const auto& entry) { return entry != nullptr; });
      if (open->ended.stop_requested()) return;
      if (any && open->asker.found({TierName::kShelf, reading->entries})) return;
      AskNext(place + 1, open);
    };
    const auto late = [this, place, open] {
      statistics_.Add(Counter::kShelfLate);
      AskNext(place + 1, open);
    };
    const Status added = places_[place]->reads.Add(
        kAccount, {.look = [shelf, trusted = trusted(), entries = open->question.entries,
                            reading] { *reading = shelf->Read(entries, *trusted); },
                   .then = found,
                   .late = late});
    if (added) return true;
    ++place;
  }
  return others_ != nullptr && others_->Ask(open->question, open->ended, open->asker);
}

std::shared_ptr<const Shelf> Shelves::FindShelf(const std::vector<SharedEntry>& entries,
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
  size_t place = 0;
  const auto shelf = FindShelf(question.entries, &place);
  if (shelf == nullptr) {
    return PeekAtOthers(std::move(question), {TierName::kShelf, TierFinding::kNoEntry}, {},
                        std::move(told));
  }
  const auto reading = std::make_shared<Shelf::Reading>();
  const auto asked = std::make_shared<Question>(std::move(question));
  const auto no_answer = [this, asked, told](const std::string& why) {
    PeekAtOthers(std::move(*asked), {TierName::kShelf, TierFinding::kNoAnswer, why}, {}, told);
  };
  const auto then = [this, asked, reading, told] {
    if (reading->entries.front() != nullptr) {
      return told({.tier = TierName::kShelf, .finding = TierFinding::kHasIt});
    }
    TierLook look{TierName::kShelf, TierFinding::kNoEntry};
    if (reading->refused > 0) {
      look.finding = TierFinding::kRefused;
      look.reason = "its bytes are not what was signed, or its signer is revoked";
    }
    PeekAtOthers(std::move(*asked), std::move(look), std::move(reading->entries), told);
  };
  const Status added = places_[place]->reads.Add(
      kAccount,
      {.look = [shelf, trusted = trusted(), entries = asked->entries,
                reading] { *reading = shelf->Read(entries, *trusted); },
       .then = then,
       .late =
           [this, no_answer] {
             no_answer(fmt::format("a build waits {} ms for it", options_.patience.count()));
           }});
  if (!added) no_answer(added.error().message);
}

void Shelves::PeekAtOthers(Question question, TierLook shelves, std::vector<ArtifactPtr> found,
                           std::function<void(Peeked)> told) {
  const auto both = [shelves = std::move(shelves), found = std::move(found),
                     told = std::move(told)](Peeked peeked) {
    peeked.before.insert(peeked.before.begin(), shelves);
    peeked.found.resize(std::max(peeked.found.size(), found.size()));
    for (size_t place = 0; place < found.size(); ++place) {
      if (peeked.found[place] == nullptr) peeked.found[place] = found[place];
    }
    told(std::move(peeked));
  };
  if (others_ == nullptr) return both({.finding = TierFinding::kNotConfigured});
  others_->Peek(std::move(question), both);
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

void Shelves::Share(const SharedEntry& entry, const ArtifactPtr& artifact, Account account) {
  if (others_ != nullptr) others_->Share(entry, artifact, account);
}

}  // namespace cccl_cache::daemon

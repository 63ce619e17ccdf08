// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/recent_failures.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxText = 256;
constexpr size_t kMaxSearched = 64 << 10;

/// Returns the most informative line of a compiler's log: the first line with an error, or if there
/// is none, the first line.
std::string TellingLine(std::string_view log) {
  log = log.substr(0, kMaxSearched);
  // "is undefined" is searched first, because an undefined name often causes the errors above it.
  // "error:" is searched before "error", which also occurs in names and warnings.
  size_t error = log.find("is undefined");
  if (error == std::string_view::npos) error = log.find("error:");
  if (error == std::string_view::npos) error = log.find("error");
  if (error != std::string_view::npos) log.remove_prefix(log.rfind('\n', error) + 1);
  return ToUtf8(CutAtCharacter(log.substr(0, log.find('\n')), kMaxText));
}

/// Returns whether this error is no failure for the user, because the client handles it: it sends
/// the missing files, retries, expects misses because it asked for hits only, or has left.
bool IsAnsweredByClient(ErrorCode code) {
  return code == ErrorCode::kFilesNeeded || code == ErrorCode::kUploadNeeded ||
         code == ErrorCode::kNotCached || code == ErrorCode::kOverloaded ||
         code == ErrorCode::kCancelled;
}

bool IsOwn(const Failure& failure, const Peer& peer) {
  return failure.uid == peer.uid && peer.uid != kOverflowUid;
}

bool SaysTheSame(const Failure& one, const Failure& other) {
  return one.uid == other.uid && one.kind == other.kind && one.key == other.key &&
         one.cause == other.cause && one.text == other.text;
}

}  // namespace

void RecentFailures::Add(const BuildRecord& record) {
  const Result<BuildAnswer>& result = record.result;
  if (result && (result->outcome != Outcome::kFailed || result->remembered)) return;
  if (!result && IsAnsweredByClient(result.error().code)) return;
  Failure failure{.time = std::chrono::system_clock::now(),
                  .kind = NameOf(record.kind),
                  .uid = record.peer.uid};
  if (result) {
    failure.key = result->key;
    failure.cause = TellingLine(result->reason);
    failure.text = TellingLine(result->log.empty() ? result->reason : result->log);
  } else {
    failure.cause = Name(result.error().code);
    failure.text = TellingLine(result.error().message);
  }
  const Account account = record.peer.account();
  Failures::Entries equal;
  Failures::Entries gone;
  const MutexLock lock(mutex_);
  if (const auto own = failures_.users().find(account);
      !record.leads && own != failures_.users().end()) {
    const auto same = std::ranges::find_if(own->second.oldest_first, [&](const auto& each) {
      return SaysTheSame(each.value, failure);
    });
    if (same != own->second.oldest_first.end()) equal = failures_.Remove(same->key);
  }
  gone = failures_.Insert(account, ++last_, std::move(failure), 0);
}

std::vector<Failure> RecentFailures::Take(const Peer& peer) const {
  std::vector<std::pair<uint64_t, const Failure*>> seen;
  std::vector<Failure> newest;
  const MutexLock lock(mutex_);
  for (const auto& [account, share] : failures_.users()) {
    for (const Failures::Entry& each : share.oldest_first) {
      if (peer.administrator || IsOwn(each.value, peer)) seen.emplace_back(each.key, &each.value);
    }
  }
  const auto shown = seen.begin() + static_cast<ptrdiff_t>(std::min(seen.size(), kMax));
  std::ranges::partial_sort(seen, shown, std::greater{});
  for (auto each = seen.begin(); each != shown; ++each) {
    newest.push_back(*each->second);
    if (!IsOwn(newest.back(), peer)) newest.back().text.clear();
  }
  return newest;
}

}  // namespace cccl_cache::daemon

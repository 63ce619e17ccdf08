// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/recent_failures.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxText = 256;
constexpr size_t kMaxSearched = 64 << 10;

/// Returns the line of a compiler's log that says what is wrong, or the first line.
std::string TellingLine(std::string_view log) {
  log = log.substr(0, kMaxSearched);
  const size_t error = log.find("error");
  if (error != std::string_view::npos) log.remove_prefix(log.rfind('\n', error) + 1);
  return ToUtf8(log.substr(0, std::min(log.find('\n'), kMaxText)));
}

}  // namespace

void RecentFailures::Add(const BuildRecord& record) {
  const Result<BuildAnswer>& result = record.result;
  if (result && (result->outcome != Outcome::kFailed || result->remembered)) return;
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
  Failures::Entries gone;
  const MutexLock lock(mutex_);
  gone = failures_.Insert(record.peer.account(), ++last_, std::move(failure), 0);
}

std::vector<Failure> RecentFailures::Take(const Peer& peer) const {
  std::vector<std::pair<uint64_t, Failure>> seen;
  {
    const MutexLock lock(mutex_);
    for (const auto& [account, share] : failures_.users()) {
      for (const Failures::Entry& each : share.oldest_first) {
        const bool own = each.value.uid == peer.uid && peer.uid != kOverflowUid;
        if (!own && !peer.administrator) continue;
        seen.emplace_back(each.key, each.value);
        if (!own) seen.back().second.text.clear();
      }
    }
  }
  const auto shown = seen.begin() + static_cast<ptrdiff_t>(std::min(seen.size(), kMax));
  std::ranges::partial_sort(seen, shown, std::greater{},
                            [](const auto& each) { return each.first; });
  std::vector<Failure> newest;
  for (auto each = seen.begin(); each != shown; ++each) newest.push_back(std::move(each->second));
  return newest;
}

}  // namespace cccl_cache::daemon

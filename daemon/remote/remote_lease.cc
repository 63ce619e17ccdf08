// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_lease.h"

#include <fmt/format.h>

#include <charconv>

#include "daemon/remote/remote_entries.h"
#include "daemon/system/random.h"

namespace cccl_cache::daemon {
namespace {

// The signed lease on a deposit must change within this many times its duration.
constexpr int kFrozenAfter = 2;

std::chrono::sys_seconds Now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// Parses the value of a lease on a compile. Returns none if no node writes such a text.
std::optional<LeaseWatch::Lease> ParseLease(std::string_view text) {
  LeaseWatch::Lease lease;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    uid_t uid = 0;
    const char* const end = text.data() + colon;
    const auto read = std::from_chars(text.data(), end, uid);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    lease.files_of = uid;
    text.remove_prefix(colon + 1);
  }
  const bool token = text.size() == kLeaseTokenBytes &&
                     text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return token ? std::optional(lease) : std::nullopt;
}

}  // namespace

std::string NewLeaseToken() { return RandomDigest().Hex().substr(0, kLeaseTokenBytes); }

std::string LeaseValue(const Cluster::Question& question, const SignedLease& lease,
                       std::optional<uid_t> files_of, const SigningKey& key) {
  if (IsDeposit(question)) {
    const auto value = SignLease(*question.compile, lease, key, Now());
    return value ? *value : lease.token;  // without memory, other nodes do not wait
  }
  return files_of ? fmt::format("{}:{}", *files_of, lease.token) : lease.token;
}

std::optional<LeaseWatch::Lease> LeaseWatch::Read(const Cluster::Question& question,
                                                  std::string_view value, const TrustList& trusted,
                                                  std::chrono::milliseconds lease) {
  if (value.empty()) return std::nullopt;
  if (!IsDeposit(question)) return ParseLease(value);
  const auto now = std::chrono::steady_clock::now();
  if (value != seen_) {
    const auto opened = OpenLease(*question.compile, value, trusted, Now());
    if (!opened) return std::nullopt;
    if (opened->token == seen_lease_.token && opened->renewals <= seen_lease_.renewals) {
      return std::nullopt;
    }
    seen_ = value;
    seen_lease_ = *opened;
    seen_at_ = now;
  }
  const bool frozen = now - seen_at_ > kFrozenAfter * lease;
  return frozen ? std::nullopt : std::optional(Lease());
}

}  // namespace cccl_cache::daemon

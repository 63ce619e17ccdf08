// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_entries.h"

#include <fmt/format.h>

#include <utility>

namespace cccl_cache::daemon {
namespace {

char LetterOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::kArtifact:
      return 'a';
    case EntryKind::kManifest:
      return 'm';
    case EntryKind::kDeposit:
      return 'd';
    case EntryKind::kLease:
      return 'l';
    case EntryKind::kChunkList:
      break;
  }
  return 'c';
}

}  // namespace

std::string RemoteEntries::NameOf(const EntryName& entry) const {
  return fmt::format("{}{}:{}", options_.prefix, LetterOf(entry.kind), entry.key.Hex());
}

std::string RemoteEntries::PlaceOf(const EntryName& entry) const {
  if (entry.kind != EntryKind::kChunkList) return NameOf(entry);
  return NameOf({EntryKind::kDeposit, entry.key, {}});
}

LeaseName RemoteEntries::LeaseOn(const Digest& compile, const EntryName& entry) const {
  std::string name = NameOf({EntryKind::kLease, compile, {}});
  return {.place = IsDeposit(entry.kind) ? PlaceOf(entry) : name, .name = name};
}

bool RemoteEntries::Fetch(const EntryName& entry, RedisServers::Then then) {
  // At most `entry_limit` bytes are requested. A larger entry arrives cut off, and is refused.
  const std::string end = fmt::to_string(options_.entry_limit - 1);
  return servers_.Send(PlaceOf(entry), {"GETRANGE", NameOf(entry), "0", end}, std::move(then));
}

std::variant<SharedEntry, EntryRefusal> RemoteEntries::Open(const EntryName& entry,
                                                            std::string_view reply) const {
  if (reply.empty()) return SharedEntry();  // there is no such key
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return OpenEntry(entry, reply,
                   {.trusted = *trusted(),
                    .now = now,
                    .max_age = options_.lifetime,
                    .max_bytes = options_.entry_limit});
}

void RemoteEntries::Trust(std::shared_ptr<const TrustList> trusted) {
  const MutexLock lock(mutex_);
  trusted_ = std::move(trusted);
}

std::shared_ptr<const TrustList> RemoteEntries::trusted() const {
  const MutexLock lock(mutex_);
  return trusted_;
}

}  // namespace cccl_cache::daemon

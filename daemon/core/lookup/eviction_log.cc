// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/eviction_log.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// clang-format off
//   evictions = eviction*           of each cause the oldest first; each key once
//   eviction  = cause time key
//   cause     = u8                  EvictionCause
//   time      = u64                 milliseconds since 1970
//   key       = 32 bytes
// clang-format on
// The bytes have no version of their own: the version of the database's format covers them (the
// value "store.format" in the table meta).
constexpr size_t kEvictionBytes = sizeof(uint8_t) + sizeof(uint64_t) + sizeof(Digest::bytes);
// Milliseconds since 1970, in the far future. Larger values could overflow a time_point.
constexpr uint64_t kLatest = 1ull << 43;
constexpr EvictionCause kLastCause{static_cast<uint8_t>(EvictionCause::kCount) - 1};

struct StoredEviction {
  Digest key;
  EvictionLog::Eviction eviction;
};

void Put(ByteWriter& writer, const Digest& key, const EvictionLog::Eviction& eviction) {
  const auto since_1970 =
      std::chrono::floor<milliseconds>(eviction.time.time_since_epoch()).count();
  writer.Put(eviction.cause).Put<uint64_t>(std::max<int64_t>(0, since_1970)).Bytes(key.View());
}

StoredEviction Take(ByteReader& reader) {
  const auto cause = reader.TakeEnum(EvictionCause{}, kLastCause);
  auto time = reader.Take<uint64_t>();
  if (time > kLatest) {
    reader.Fail();
    time = 0;  // a time_point can't hold the value
  }
  const Digest key{reader.Sha256()};
  return {key, {cause, system_clock::time_point(milliseconds(static_cast<int64_t>(time)))}};
}

// Returns the evictions, or none if the bytes are malformed.
std::optional<std::vector<StoredEviction>> Parse(std::string_view bytes) {
  if (bytes.size() % kEvictionBytes != 0) return std::nullopt;
  std::vector<StoredEviction> evictions;
  evictions.reserve(bytes.size() / kEvictionBytes);
  ByteReader reader(bytes);
  while (!reader.rest().empty()) evictions.push_back(Take(reader));
  if (!reader.ok()) return std::nullopt;
  return evictions;
}

}  // namespace

void EvictionLog::Note(const Digest& key, EvictionCause cause) {
  const MutexLock lock(mutex_);
  Add(key, {cause, system_clock::now()});
}

void EvictionLog::Add(const Digest& key, const Eviction& eviction) {
  ++noted_;
  static_cast<void>(evictions_.Insert(eviction.cause, key, eviction, 0));
}

std::optional<EvictionLog::Eviction> EvictionLog::Find(const Digest& key) const {
  const MutexLock lock(mutex_);
  const auto* const found = evictions_.Find(key);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

uint64_t EvictionLog::noted() const {
  const MutexLock lock(mutex_);
  return noted_;
}

std::string EvictionLog::Serialize() const {
  const MutexLock lock(mutex_);
  ByteWriter writer;
  for (const auto& [cause, share] : evictions_.users()) {
    const size_t count = std::min(share.oldest_first.size(), kSerialisedPerCause);
    auto eviction = std::prev(share.oldest_first.end(), static_cast<ptrdiff_t>(count));
    for (; eviction != share.oldest_first.end(); ++eviction) {
      Put(writer, eviction->key, eviction->value);
    }
  }
  return writer.Joined();
}

void EvictionLog::Restore(std::string_view bytes) {
  const auto stored = Parse(bytes);
  if (!stored) return;
  const MutexLock lock(mutex_);
  for (const StoredEviction& each : *stored) {
    if (evictions_.Find(each.key) == nullptr) Add(each.key, each.eviction);
  }
}

}  // namespace cccl_cache::daemon

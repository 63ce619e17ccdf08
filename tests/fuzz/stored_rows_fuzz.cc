// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Small rows of the database, as a broken disk may return them. The input is tried as each kind of
// row.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/statistics.h"
#include "daemon/store/rows.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;

constexpr uid_t kUid = 1000;

// Checks that a row has one encoding.
void ReadRows(std::string_view input) {
  if (const auto usage = DecodeUsage(input)) assert(EncodeUsage(*usage) == input);
  if (const auto totals = DecodeTotals(input)) assert(EncodeTotals(*totals) == input);
  if (const auto answered = DecodeAnswered(input)) assert(EncodeAnswered(*answered) == input);
  if (const auto usage = DecodePrivateUsage(input)) assert(EncodePrivateUsage(*usage) == input);
}

void ReadRowKeys(std::string_view input) {
  const auto uid = UserOfRow(input);
  const auto key = KeyOfRow(input);
  if (uid && key) assert(UserRowKey(*uid, *key) == input);
}

// Checks that an accepted row can be written and is accepted again.
void ReadStatistics(std::string_view input) {
  Statistics statistics;
  statistics.Restore(input);
  Statistics next;
  next.Restore(statistics.Serialize());
  assert(next.Serialize() == statistics.Serialize());
}

void ReadDepartures(std::string_view input) {
  EvictionLog eviction_log;
  eviction_log.Restore(input);
  EvictionLog next;
  next.Restore(eviction_log.Serialize());
  assert(next.Serialize() == eviction_log.Serialize());
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const auto key = cccl_cache::Sha256("key");
  const auto since = std::chrono::sys_seconds(std::chrono::seconds(5));
  AnsweredBuild answered;
  answered.fingerprint = cccl_cache::Sha256("fingerprint");
  answered.toolchain = cccl_cache::Sha256("toolchain");
  answered.toolchain_version = "13.0";
  answered.arch = "sm_90";
  answered.last = since;
  Statistics statistics;
  statistics.Add(Counter::kBuilds, 12);
  EvictionLog eviction_log;
  eviction_log.Note(key, EvictionCause::kCorrupt);
  eviction_log.Note(answered.fingerprint, EvictionCause::kEvicted);
  return {EncodeUsage({7, std::chrono::microseconds(8), since, 9}),
          EncodeTotals({2, 3}),
          EncodeAnswered(answered),
          EncodePrivateUsage({4, 5}),
          UserRowKey(kUid, key),
          statistics.Serialize(),
          eviction_log.Serialize()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  ReadRows(input);
  ReadRowKeys(input);
  ReadStatistics(input);
  ReadDepartures(input);
  return 0;
}

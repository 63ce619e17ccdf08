// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/usage_record.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace cccl_cache::daemon {
namespace {

//   usage  = bytes compile_time last_use hits     u64 each, little endian; microseconds, seconds
//   since 1970 totals = entries bytes                        u64 each, little endian
// Their version is that of the database's format (meta, "store.format").

std::string EncodeNumbers(std::span<const uint64_t> numbers) {
  std::string bytes;
  bytes.reserve(numbers.size() * sizeof(uint64_t));
  for (const uint64_t number : numbers) {
    for (size_t i = 0; i < sizeof(number); ++i)
      bytes.push_back(static_cast<char>(number >> (8 * i)));
  }
  return bytes;
}

template <size_t kCount>
std::optional<std::array<uint64_t, kCount>> DecodeNumbers(std::string_view bytes) {
  std::array<uint64_t, kCount> numbers{};
  if (bytes.size() != kCount * sizeof(uint64_t)) return std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i) {
    numbers[i / 8] |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * (i % 8));
  }
  return numbers;
}

bool FitsSigned(uint64_t value) { return value <= std::numeric_limits<int64_t>::max(); }

}  // namespace

double KeepValue(const UsageRecord& record, std::chrono::sys_seconds now) {
  // A clock that was set back must not make an entry look eternal: at least a second has always
  // passed.
  const double idle = static_cast<double>(std::max<int64_t>(1, (now - record.last_use).count()));
  const double cost = static_cast<double>(std::max<int64_t>(1, record.compile_time.count()));
  return cost / (static_cast<double>(std::max<uint64_t>(1, record.bytes)) * idle);
}

std::string EncodeUsage(const UsageRecord& record) {
  return EncodeNumbers(std::array{record.bytes, static_cast<uint64_t>(record.compile_time.count()),
                                  static_cast<uint64_t>(record.last_use.time_since_epoch().count()),
                                  record.hits});
}

std::optional<UsageRecord> DecodeUsage(std::string_view bytes) {
  const auto numbers = DecodeNumbers<4>(bytes);
  if (!numbers) return std::nullopt;
  const auto [size, compile_time, last_use, hits] = *numbers;
  if (!FitsSigned(compile_time) || !FitsSigned(last_use)) return std::nullopt;
  return UsageRecord{size, std::chrono::microseconds(compile_time),
                     std::chrono::sys_seconds(std::chrono::seconds(last_use)), hits};
}

std::string EncodeTotals(const TierSize& totals) {
  return EncodeNumbers(std::array{totals.entries, totals.bytes});
}

std::optional<TierSize> DecodeTotals(std::string_view bytes) {
  const auto numbers = DecodeNumbers<2>(bytes);
  if (!numbers) return std::nullopt;
  return TierSize{(*numbers)[0], (*numbers)[1]};
}

}  // namespace cccl_cache::daemon

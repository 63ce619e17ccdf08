// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/steps/step_value.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "proto/digest.h"

namespace cccl_cache {
namespace {

constexpr std::string_view kMagic = "CCCLPYB1";
constexpr size_t kSealEnd = kMagic.size() + sizeof(Digest::bytes);
constexpr size_t kTimeSize = 8;

Digest SealOf(std::string_view digest, std::string_view time, std::string_view value) {
  Hasher hasher;
  hasher.Append(digest);
  hasher.Append(time);
  hasher.Append(value);
  return hasher.Finish();
}

std::string EncodedTime(std::chrono::microseconds took) {
  std::string bytes;
  for (size_t i = 0; i < kTimeSize; ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(took.count()) >> (8 * i));
  }
  return bytes;
}

std::chrono::microseconds DecodedTime(std::string_view bytes) {
  uint64_t count = 0;
  for (size_t i = 0; i < kTimeSize; ++i) {
    count |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return std::chrono::microseconds(count);
}

}  // namespace

StepValue::StepValue(std::chrono::microseconds took, std::string deposit)
    : took_(took), deposit_(std::move(deposit)) {}

StepValue::StepValue(std::string_view digest, std::chrono::microseconds took,
                     std::string_view value)
    : took_(took) {
  const std::string time = EncodedTime(took);
  deposit_.reserve(kSealEnd + kTimeSize + value.size());
  deposit_.append(kMagic).append(SealOf(digest, time, value).View()).append(time).append(value);
}

std::optional<StepValue> StepValue::FromDeposit(std::string_view digest, std::string deposit) {
  const std::string_view all = deposit;
  if (all.size() < kSealEnd + kTimeSize || !all.starts_with(kMagic)) return std::nullopt;
  const std::string_view time = all.substr(kSealEnd, kTimeSize);
  const std::string_view seal = all.substr(kMagic.size(), kSealEnd - kMagic.size());
  if (SealOf(digest, time, all.substr(kSealEnd + kTimeSize)).View() != seal) return std::nullopt;
  const std::chrono::microseconds took = DecodedTime(time);
  return StepValue(took, std::move(deposit));
}

std::string_view StepValue::value() const {
  return std::string_view(deposit_).substr(kSealEnd + kTimeSize);
}

}  // namespace cccl_cache

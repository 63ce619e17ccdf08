// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Deposits of steps, which other members of a group may have made. The input is the part behind the
// seal. It is read with a valid seal, and alone.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/steps/step_value.h"
#include "proto/digest.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::StepValue;

constexpr std::string_view kDigest = "digest";
constexpr size_t kSealEnd = 40;
constexpr size_t kTimeSize = 8;

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const StepValue value(kDigest, std::chrono::seconds(5), "value");
  return {value.deposit(), value.deposit().substr(kSealEnd), "short"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto alone = StepValue::FromDeposit(kDigest, input);
  if (alone) assert(alone->deposit() == input);
  const std::string seal(cccl_cache::Sha256(std::string(kDigest) + input).View());
  const auto read = StepValue::FromDeposit(kDigest, "CCCLPYB1" + seal + input);
  assert(read.has_value() == (size >= kTimeSize));
  if (!read) return 0;
  assert(read->value() == std::string_view(input).substr(kTimeSize));
  assert(StepValue(kDigest, read->took(), read->value()).deposit() == read->deposit());
  return 0;
}

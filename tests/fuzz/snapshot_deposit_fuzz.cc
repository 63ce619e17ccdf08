// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Records of deposits that a snapshot may contain.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/snapshot/records.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::DepositCopy;

DepositCopy Copy() {
  return {"org.example", cccl_cache::Sha256("fields"),
          std::make_shared<const std::string>("contents")};
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() { return {EncodeDepositCopy(Copy())}; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto copy = cccl_cache::daemon::DecodeDepositCopy(Copy().identity(), input);
  if (!copy) return 0;
  assert(copy->identity() == Copy().identity());
  assert(EncodeDepositCopy(*copy) == input);
  assert(!cccl_cache::daemon::DecodeDepositCopy(cccl_cache::Sha256("another"), input));
  return 0;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Leases on deposits that anyone may have written to the shared Redis. The input is tried as a
// lease and as a statement that a trusted node signed.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/remote/signed_entry.h"
#include "daemon/remote/signed_lease.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};

const SigningKey& Key() {
  static const SigningKey key(SigningKey::Seed{1});
  return key;
}

std::optional<SignedLease> Open(std::string_view value) {
  static const TrustList trusted({Key().public_key()});
  return OpenLease(Sha256("deposit"), value, trusted, kNow);
}

std::string Signed(const SignedLease& lease) {
  return *SignLease(Sha256("deposit"), lease, Key(), kNow);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string token(kLeaseTokenBytes, 'a');
  return {Signed({token, 7}), token + std::string(8, '\x01')};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // Only the first seed has a valid signature.
  if (Open(input)) assert(input == cccl_cached_fuzz::Seeds().front());
  const auto statement = std::make_shared<const std::string>(input);
  std::string value =
      *SignEntry({EntryKind::kLease, Sha256("deposit"), {}}, {.deposit = statement}, Key(), kNow);
  value += input.substr(0, kLeaseTokenBytes);
  if (const auto lease = Open(value)) {
    assert(input.size() == kLeaseTokenBytes + sizeof(uint64_t));
    const auto again = Open(Signed(*lease));
    assert(again && again->token == lease->token && again->renewals == lease->renewals);
  }
  return 0;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/signed_lease.h"

#include <catch2/catch.hpp>
#include <string>

#include "daemon/remote/signed_entry.h"

namespace signed_lease_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::Digest;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;

const SigningKey kKey(SigningKey::Seed{1});
const TrustList kTrusted({kKey.public_key()});
const Digest kDeposit = Sha256("deposit");
const std::string kToken(kLeaseTokenBytes, 'a');
constexpr std::chrono::sys_seconds kNow{1'800'000'000s};

std::string Signed(uint64_t renewals = 7) {
  return *SignLease(kDeposit, {kToken, renewals}, kKey, kNow);
}

TEST_CASE("a lease of a trusted node is opened, and ends with its token") {
  CHECK(Signed().ends_with(kToken));
  const auto lease = OpenLease(kDeposit, Signed(), kTrusted, kNow);
  REQUIRE(lease);
  CHECK(lease->token == kToken);
  CHECK(lease->renewals == 7);
}

TEST_CASE("a lease is refused for another deposit, without trust, and later than clocks differ") {
  CHECK_FALSE(OpenLease(Sha256("other"), Signed(), kTrusted, kNow));
  CHECK_FALSE(OpenLease(kDeposit, Signed(), TrustList(), kNow));
  CHECK(OpenLease(kDeposit, Signed(), kTrusted, kNow + kMaxClockAhead));
  CHECK_FALSE(OpenLease(kDeposit, Signed(), kTrusted, kNow + kMaxClockAhead + 1s));
  CHECK(OpenLease(kDeposit, Signed(), kTrusted, kNow - kMaxClockAhead));
}

TEST_CASE("a lease with any changed byte, or cut anywhere, is refused") {
  const std::string value = Signed();
  for (size_t place = 0; place < value.size(); ++place) {
    std::string changed = value;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    CHECK_FALSE(OpenLease(kDeposit, changed, kTrusted, kNow));
    CHECK_FALSE(OpenLease(kDeposit, value.substr(0, place), kTrusted, kNow));
  }
}

TEST_CASE("a signed deposit is no lease, and a lease is no deposit") {
  const EntryName deposit{EntryKind::kDeposit, kDeposit, {}};
  const std::string statement = kToken + std::string(8, '\0');
  const auto entry =
      SignEntry(deposit, {.deposit = std::make_shared<const std::string>(statement)}, kKey, kNow);
  CHECK_FALSE(OpenLease(kDeposit, *entry + kToken, kTrusted, kNow));
  const auto opened = OpenEntry(deposit, Signed().substr(0, Signed().size() - kLeaseTokenBytes),
                                {kTrusted, kNow, 3600s, 1 << 20});
  CHECK(std::get<EntryRefusal>(opened) == EntryRefusal::kOtherKey);
}

}  // namespace signed_lease_test

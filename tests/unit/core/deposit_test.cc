// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposit.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::deposit_test {
namespace {

using cccl_cache::DepositScope;
using cccl_cache::Sha256;

DepositRecord Record() {
  return {.key = Sha256("key"),
          .uid = 1000,
          .scope = {DepositScope::Kind::kGroup, 2000},
          .name_space = "org.example",
          .fields = Sha256("fields"),
          .size = 7,
          .made = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000)),
          .took = std::chrono::microseconds(1'500'000),
          .used = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'100))};
}

TEST_CASE("the encoding of a deposit does not change") {
  CHECK(Sha256(EncodeDepositContents(Sha256("key"), std::string("a\0b", 3))).Hex() ==
        "38a5ed5e9ef43ef4fc7b145db544a79fb4bb421703af527f9d5a0cf7eddcff65");
  CHECK(Sha256(EncodeDepositRecord(Record())).Hex() ==
        "f74ec27b248f5e2cc0139b93c0dfde03abeed621c2daafee6a190bc536fe9406");
}

TEST_CASE("decoded contents of a deposit equal the encoded ones") {
  for (const std::string& contents :
       {std::string(), std::string("a\0b", 3), std::string(9000, 'x')}) {
    const auto back =
        DecodeDepositContents(Sha256("key"), EncodeDepositContents(Sha256("key"), contents));
    REQUIRE(back != nullptr);
    CHECK(*back == contents);
  }
}

TEST_CASE("a decoded record of a deposit equals the encoded one") {
  const auto back = DecodeDepositRecord(Record().key, EncodeDepositRecord(Record()));
  REQUIRE(back);
  CHECK(back->key == Record().key);
  CHECK(back->uid == 1000);
  CHECK(back->scope == Record().scope);
  CHECK(back->name_space == "org.example");
  CHECK(back->fields == Sha256("fields"));
  CHECK(back->size == 7);
  CHECK(back->made == Record().made);
  CHECK(back->used == Record().used);
  CHECK(back->took == Record().took);
  CHECK_FALSE(back->is_fetched);
  DepositRecord fetched = Record();
  fetched.is_fetched = true;
  const auto other = DecodeDepositRecord(fetched.key, EncodeDepositRecord(fetched));
  REQUIRE(other);
  CHECK(other->scope == fetched.scope);
  CHECK(other->is_fetched);
}

TEST_CASE("a record of version 2 is a deposit whose time is not known") {
  std::string stored = EncodeDepositRecord(Record());
  stored.resize(stored.size() - sizeof(uint64_t) - sizeof(Digest::bytes));
  stored[sizeof("CCCLDPR\n") - 1] = 2;
  stored.append(Sha256(stored).View());
  CHECK(Sha256(stored).Hex() == "774f34178193201ccde69b4caa8c70ba0bfa88d089ca303b1999bdcb312b0516");
  const auto back = DecodeDepositRecord(Record().key, stored);
  REQUIRE(back);
  CHECK(back->used == Record().used);
  CHECK(back->took.count() == 0);
}

TEST_CASE("a deposit with another key, another length or a flipped bit is refused") {
  const std::string contents = EncodeDepositContents(Record().key, "contents");
  const std::string record = EncodeDepositRecord(Record());
  CHECK(DecodeDepositContents(Sha256("another"), contents) == nullptr);
  CHECK_FALSE(DecodeDepositRecord(Sha256("another"), record));
  CHECK(DecodeDepositContents(Record().key, record) == nullptr);
  CHECK_FALSE(DecodeDepositRecord(Record().key, contents));
  CHECK(DecodeDepositContents(Record().key, contents + '\0') == nullptr);
  CHECK_FALSE(DecodeDepositRecord(Record().key, record + '\0'));
  for (size_t i = 0; i < contents.size(); ++i) {
    std::string damaged = contents;
    damaged[i] ^= 4;
    CHECK(DecodeDepositContents(Record().key, damaged) == nullptr);
    CHECK(DecodeDepositContents(Record().key, contents.substr(0, i)) == nullptr);
  }
  for (size_t i = 0; i < record.size(); ++i) {
    std::string damaged = record;
    damaged[i] ^= 4;
    CHECK_FALSE(DecodeDepositRecord(Record().key, damaged));
    CHECK_FALSE(DecodeDepositRecord(Record().key, record.substr(0, i)));
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::deposit_test

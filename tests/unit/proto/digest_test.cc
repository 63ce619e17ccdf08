// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/digest.h"

#include <catch2/catch.hpp>

namespace cccl_cache::digest_test {
namespace {

TEST_CASE("a digest is a standard SHA-256") {
  REQUIRE(Sha256("").Hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  REQUIRE(Sha256("abc").Hex() ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a digest is read back from hexadecimal digits and from bytes") {
  const Digest digest = Sha256("x");
  REQUIRE(Digest::FromHex(digest.Hex()) == digest);
  REQUIRE(Digest::FromBytes(digest.View()) == digest);
}

TEST_CASE("a text with a wrong length or a wrong letter is no digest") {
  const std::string hex = Sha256("x").Hex();
  REQUIRE_FALSE(Digest::FromHex(""));
  REQUIRE_FALSE(Digest::FromHex(hex + "0"));
  REQUIRE_FALSE(Digest::FromHex(hex.substr(1)));
  REQUIRE_FALSE(Digest::FromHex("g" + hex.substr(1)));
  REQUIRE_FALSE(Digest::FromBytes(""));
  REQUIRE_FALSE(Digest::FromBytes(std::string(33, 'x')));
}

TEST_CASE("the first digits of a digest match it, and not one with other digits") {
  const Digest digest = Sha256("x");
  for (const size_t digits : {8, 9, 64}) {
    const auto prefix = DigestPrefix::FromHex(digest.Hex().substr(0, digits));
    REQUIRE(prefix);
    CHECK(prefix->Matches(digest));
    CHECK_FALSE(prefix->Matches(Sha256("y")));
  }
  CHECK(DigestPrefix::FromHex("ABCDEF01")->hex == "abcdef01");
  CHECK(DigestPrefix(digest).hex == digest.Hex());
  CHECK_FALSE(DigestPrefix::FromHex(digest.Hex().substr(0, 7)));
  CHECK_FALSE(DigestPrefix::FromHex(digest.Hex() + "0"));
  CHECK_FALSE(DigestPrefix::FromHex("0000000g"));
}

TEST_CASE("values with equal bytes but different boundaries hash differently") {
  Hasher split;
  split.AppendValue("option", "-I");
  split.AppendValue("option", "-O2");
  Hasher joined;
  joined.AppendValue("option", "-I-O2");
  Hasher tagged;
  tagged.AppendValue("option-", "I");
  tagged.AppendValue("option", "-O2");
  const Digest one = split.Finish();
  const Digest two = joined.Finish();
  REQUIRE(one != two);
  REQUIRE(tagged.Finish() != one);
}

TEST_CASE("a hasher starts over after it finished") {
  Hasher hasher;
  hasher.Append("abc");
  REQUIRE(hasher.Finish() == Sha256("abc"));
  REQUIRE(hasher.Finish() == Sha256(""));
}

}  // namespace
}  // namespace cccl_cache::digest_test

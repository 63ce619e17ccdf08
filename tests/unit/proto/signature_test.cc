// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/signature.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "proto/digest.h"

namespace signature_test {

using namespace cccl_cache;
using Catch::Matchers::Contains;

namespace {

SigningKey KeyOf(const std::string& seed) { return SigningKey(Digest::FromHex(seed)->bytes); }

SigningKey SomeKey() { return KeyOf(std::string(63, '0') + "1"); }

/// Returns the error about these public keys, in a file named "list".
std::string WrongIn(const std::string& text) {
  const auto parsed = ParsePublicKeys(text, "list");
  const auto* wrong = std::get_if<std::string>(&parsed);
  REQUIRE(wrong != nullptr);
  return *wrong;
}

std::string WrongSecret(const std::string& text) {
  const auto parsed = ParseSigningKey(text, "key");
  const auto* wrong = std::get_if<std::string>(&parsed);
  REQUIRE(wrong != nullptr);
  return *wrong;
}

std::vector<ListedKey> Listed(const std::string& text) {
  auto parsed = ParsePublicKeys(text, "list");
  REQUIRE(std::holds_alternative<std::vector<ListedKey>>(parsed));
  return std::get<0>(std::move(parsed));
}

const std::string kHex = SomeKey().public_key().Hex();

}  // namespace

TEST_CASE("signatures equal those of RFC 8032") {
  struct Known {
    std::string seed;
    std::string key;
    std::string message;
    std::string signature_half;
  };
  const Known known =
      GENERATE(Known{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"},
               Known{"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
                     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"});
  const SigningKey key = KeyOf(known.seed);
  CHECK(key.public_key().Hex() == known.key);
  const Signature signature = key.Sign(known.message);
  CHECK(Digest::FromBytes(signature.View().substr(0, 32))->Hex() == known.signature_half);
  CHECK(Verify(key.public_key(), known.message, signature));
}

TEST_CASE("a signature is invalid for another message, another key, or with a bit flipped") {
  const SigningKey key = SomeKey();
  const Signature signature = key.Sign("message");
  REQUIRE(Verify(key.public_key(), "message", signature));
  CHECK_FALSE(Verify(key.public_key(), "massage", signature));
  CHECK_FALSE(Verify(key.public_key(), "messag", signature));
  CHECK_FALSE(Verify(KeyOf(std::string(64, '2')).public_key(), "message", signature));
  for (size_t bit = 0; bit < signature.bytes.size() * 8; bit += 7) {
    Signature flipped = signature;
    flipped.bytes[bit / 8] = static_cast<uint8_t>(flipped.bytes[bit / 8] ^ (1 << (bit % 8)));
    INFO("bit " << bit);
    CHECK_FALSE(Verify(key.public_key(), "message", flipped));
  }
}

TEST_CASE("generated keys differ and sign") {
  const auto one = SigningKey::Generate();
  const auto other = SigningKey::Generate();
  REQUIRE(std::holds_alternative<SigningKey>(one));
  REQUIRE(std::holds_alternative<SigningKey>(other));
  const auto& key = std::get<SigningKey>(one);
  CHECK(key.public_key() != std::get<SigningKey>(other).public_key());
  CHECK(Verify(key.public_key(), "message", key.Sign("message")));
}

TEST_CASE("a secret key is read back from its file, which says that it is secret") {
  const SigningKey key = SomeKey();
  const std::string text = SigningKeyText(key);
  CHECK(text.starts_with("# Secret key"));
  const auto read = ParseSigningKey(text, "key");
  REQUIRE(std::holds_alternative<SigningKey>(read));
  CHECK(std::get<SigningKey>(read).public_key() == key.public_key());
}

TEST_CASE("public keys are read with comments and line numbers, among remarks and empty lines") {
  const auto keys = Listed("# nodes\n\n" + PublicKeyLine(SomeKey().public_key(), "node 7 ") +
                           "  ed25519\t" + kHex + "\r\n" + "ed25519 " + kHex + " no newline");
  REQUIRE(keys.size() == 3);
  for (const ListedKey& each : keys) CHECK(each.key == SomeKey().public_key());
  CHECK(keys[0].comment == "node 7");
  CHECK(keys[0].line == 3);
  CHECK(keys[1].comment.empty());
  CHECK(keys[1].line == 4);
  CHECK(keys[2].comment == "no newline");
  CHECK(Listed("").empty());
}

TEST_CASE("a comment with line breaks is written on one line") {
  const std::string line = PublicKeyLine(SomeKey().public_key(), "a\ned25519 b\x1b[2J");
  CHECK(line == "ed25519 " + kHex + " a?ed25519 b?[2J\n");
}

TEST_CASE("a line without a public key is an error with file, line and remedy") {
  const std::string line = GENERATE(
      as<std::string>(), "ed25519", "ed25519 abc", "ssh-ed25519 " + kHex, "ed25519 " + kHex + "0",
      "ed25519 " + std::string(64, 'g'), "ed25519-secret", std::string(100, '\0'));
  const std::string wrong = WrongIn("ed25519 " + kHex + "\n" + line + "\n");
  CHECK_THAT(wrong, Catch::StartsWith("list:2: "));
  CHECK_THAT(wrong, Contains("remove"));
}

TEST_CASE("a secret key among public ones is an error that does not show the secret") {
  const std::string wrong = WrongIn(SigningKeyText(SomeKey()));
  CHECK_THAT(wrong, Catch::StartsWith("list:2: ") && Contains("secret") && Contains(".pub"));
  CHECK_THAT(wrong, !Contains(std::string(16, '0')));
}

TEST_CASE("a weak public key is refused") {
  const PublicKey zeros;
  // Shows the weakness: without a secret, this signature is valid for some of the messages.
  Signature nobodys;
  nobodys.bytes[0] = 1;
  size_t forged = 0;
  for (int i = 0; i < 64; ++i) forged += Verify(zeros, std::to_string(i), nobodys) ? 1 : 0;
  CHECK(forged > 0);
  CHECK_THAT(WrongIn("ed25519 " + zeros.Hex()), Contains("anyone"));
  PublicKey other;
  other.bytes.fill(0xff);
  other.bytes[0] = 0xec;
  CHECK_THAT(WrongIn("ed25519 " + other.Hex()), Contains("anyone"));
}

TEST_CASE("files of keys are bounded in bytes, keys and comments") {
  const std::string line = "ed25519 " + kHex + "\n";
  std::string most;
  for (size_t i = 0; i < kMaxListedKeys; ++i) most += line;
  CHECK(Listed(most).size() == kMaxListedKeys);
  CHECK_THAT(WrongIn(most + line), Contains("4096"));
  CHECK_THAT(WrongIn(std::string(kMaxKeyFileBytes + 1, '#')), Contains("larger"));
  CHECK_THAT(WrongSecret(std::string(kMaxKeyFileBytes + 1, '#')), Contains("larger"));
  CHECK_THAT(WrongIn("ed25519 " + kHex + " " + std::string(300, 'x')), Contains("comment"));
}

TEST_CASE("a file without exactly one secret key is an error with a remedy") {
  const std::string secret = "ed25519-secret " + std::string(64, '1') + "\n";
  CHECK_THAT(WrongSecret("# nothing\n"), Contains("keygen"));
  CHECK_THAT(WrongSecret("ed25519 " + kHex), Contains("public") && Contains(".pub"));
  CHECK_THAT(WrongSecret(secret + secret), Catch::StartsWith("key:2: ") && Contains("second"));
  const std::string damaged = GENERATE(as<std::string>(), "ed25519-secret", "ed25519-secret 11",
                                       "ed25519-secret " + std::string(64, '1') + " x", "x");
  const std::string wrong = WrongSecret(damaged);
  CHECK_THAT(wrong, Catch::StartsWith("key:1: ") && Contains("keygen"));
  CHECK_THAT(wrong, !Contains("11"));
}

}  // namespace signature_test

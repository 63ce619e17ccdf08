// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/signature.h"

#include <nettle/eddsa.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "proto/digest.h"

namespace cccl_cache {
namespace {

constexpr std::string_view kPublic = "ed25519";
constexpr std::string_view kSecret = "ed25519-secret";
constexpr std::string_view kBlank = " \t\r";
constexpr size_t kMaxCommentBytes = 256;

static_assert(sizeof(PublicKey::bytes) == ED25519_KEY_SIZE);
static_assert(sizeof(SigningKey::Seed) == ED25519_KEY_SIZE);
static_assert(sizeof(Signature::bytes) == ED25519_SIGNATURE_SIZE);

const uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

/// Returns whether anyone can make valid signatures for this key, because its point has a small
/// order. A key of zeros, as a placeholder, is one of these. Generated keys never are.
bool AnyoneCanSignWith(PublicKey key) {
  key.bytes.back() &= 0x7f;  // removes the sign of the x coordinate
  // The y of all points whose order divides 8, little endian.
  static constexpr std::string_view kPoints[] = {
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      // The first two again, as numbers that are not reduced modulo p.
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  };
  return std::ranges::find(kPoints, key.Hex()) != std::end(kPoints);
}

/// Removes and returns the first word of the text.
std::string_view TakeWord(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(kBlank), text->size()));
  const std::string_view word = text->substr(0, text->find_first_of(kBlank));
  text->remove_prefix(word.size());
  return word;
}

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

struct Line {
  std::string_view text;
  size_t number = 0;  ///< the first line has number 1
};

/// Returns the lines that are neither empty nor comments.
std::vector<Line> TellingLines(std::string_view text) {
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    if (!line.empty() && line.front() != '#') lines.push_back({line, number});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string At(const std::string& file, const Line& line) {
  return file + ":" + std::to_string(line.number) + ": ";
}

std::string TooLarge(const std::string& file) {
  return file + ": larger than " + std::to_string(kMaxKeyFileBytes) +
         " bytes: is this a file of keys?";
}

std::variant<ListedKey, std::string> ParsePublicKey(const Line& line) {
  std::string_view rest = line.text;
  const std::string_view type = TakeWord(&rest);
  if (type == kSecret) {
    return "this is a secret key: remove it here, and list the line in the file beside it that "
           "ends in .pub";
  }
  const auto key = PublicKey::FromHex(TakeWord(&rest));
  if (type != kPublic || !key) {
    return "not a public key, which is \"ed25519\", 64 digits of 0-9 and a-f, and a comment: copy "
           "the line from the .pub file again, or remove it";
  }
  if (AnyoneCanSignWith(*key)) {
    return "anyone can sign with this key: replace it by one that remote keygen made";
  }
  const std::string_view comment = Trimmed(rest);
  if (comment.size() > kMaxCommentBytes) {
    return "the comment is longer than " + std::to_string(kMaxCommentBytes) + " bytes: shorten it";
  }
  return ListedKey{*key, std::string(comment), line.number};
}

}  // namespace

std::string PublicKey::Hex() const { return Digest{bytes}.Hex(); }

std::optional<PublicKey> PublicKey::FromHex(std::string_view hex) {
  const auto read = Digest::FromHex(hex);
  return read ? std::optional(PublicKey{read->bytes}) : std::nullopt;
}

bool Verify(const PublicKey& key, std::string_view message, const Signature& signature) {
  return ed25519_sha512_verify(key.bytes.data(), message.size(), Bytes(message),
                               signature.bytes.data()) == 1;
}

std::variant<SigningKey, std::string> SigningKey::Generate() {
  Seed seed;
  // For so few bytes, getrandom() never returns only a part of them.
  ssize_t size = -1;
  do {
    size = getrandom(seed.data(), seed.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(seed.size())) {
    return std::string("the kernel gives no random numbers: ") + std::strerror(errno);
  }
  SigningKey key(seed);
  explicit_bzero(seed.data(), seed.size());
  return key;
}

SigningKey::SigningKey(const Seed& seed) : seed_(seed) {
  ed25519_sha512_public_key(public_key_.bytes.data(), seed_.data());
}

SigningKey::~SigningKey() { explicit_bzero(seed_.data(), seed_.size()); }

Signature SigningKey::Sign(std::string_view message) const {
  Signature signature;
  ed25519_sha512_sign(public_key_.bytes.data(), seed_.data(), message.size(), Bytes(message),
                      signature.bytes.data());
  return signature;
}

std::variant<std::vector<ListedKey>, std::string> ParsePublicKeys(std::string_view text,
                                                                  const std::string& file) {
  if (text.size() > kMaxKeyFileBytes) return TooLarge(file);
  std::vector<ListedKey> keys;
  for (const Line& line : TellingLines(text)) {
    auto parsed = ParsePublicKey(line);
    if (const auto* wrong = std::get_if<std::string>(&parsed)) return At(file, line) + *wrong;
    if (keys.size() == kMaxListedKeys) {
      return At(file, line) + "more than " + std::to_string(kMaxListedKeys) +
             " keys: remove those that are no longer used";
    }
    keys.push_back(std::get<ListedKey>(std::move(parsed)));
  }
  return keys;
}

std::variant<SigningKey, std::string> ParseSigningKey(std::string_view text,
                                                      const std::string& file) {
  if (text.size() > kMaxKeyFileBytes) return TooLarge(file);
  const std::vector<Line> lines = TellingLines(text);
  if (lines.empty()) return file + ": no key in it: make one with remote keygen";
  if (lines.size() > 1) return At(file, lines[1]) + "a second key: keep one of them";
  std::string_view rest = lines.front().text;
  const std::string_view type = TakeWord(&rest);
  if (type == kPublic) {
    return At(file, lines.front()) +
           "this is a public key: name the file of the secret one, without .pub";
  }
  const auto seed = Digest::FromHex(TakeWord(&rest));
  if (type != kSecret || !seed || !Trimmed(rest).empty()) {
    return At(file, lines.front()) +
           "not a secret key, which is \"ed25519-secret\" and 64 digits of 0-9 and a-f: restore "
           "the file, or make a new one with remote keygen";
  }
  return SigningKey(seed->bytes);
}

std::string PublicKeyLine(const PublicKey& key, std::string_view comment) {
  std::string line(kPublic);
  line.append(" ").append(key.Hex());
  comment = Trimmed(comment.substr(0, kMaxCommentBytes));
  if (!comment.empty()) line.append(" ").append(Printable(comment));
  return line.append("\n");
}

std::string SigningKeyText(const SigningKey& key) {
  std::string text =
      "# Secret key of cccl-cached: nodes that trust its public key take what it signs.\n";
  return text.append(kSecret).append(" ").append(Digest{key.seed()}.Hex()).append("\n");
}

}  // namespace cccl_cache

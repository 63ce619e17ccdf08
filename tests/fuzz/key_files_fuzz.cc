// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Key files, which people copy and edit. The input is tried as a trust list and as a secret key.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/signature.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::ListedKey;
using cccl_cache::ParsePublicKeys;
using cccl_cache::ParseSigningKey;
using cccl_cache::SigningKey;

/// Checks that keys are unchanged when they are written and read again.
void CheckKeys(const std::vector<ListedKey>& keys) {
  assert(keys.size() <= cccl_cache::kMaxListedKeys);
  std::string text;
  for (const ListedKey& each : keys) text += cccl_cache::PublicKeyLine(each.key, each.comment);
  const auto again = ParsePublicKeys(text, "list");
  const auto* read = std::get_if<0>(&again);
  assert(read != nullptr && read->size() == keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    assert((*read)[i].key == keys[i].key);
    assert((*read)[i].line == i + 1);
  }
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const SigningKey key(SigningKey::Seed{1});
  const std::string line = cccl_cache::PublicKeyLine(key.public_key(), "node 7");
  return {line, "# nodes\n\n" + line + line, cccl_cache::SigningKeyText(key)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto keys = ParsePublicKeys(input, "list");
  if (const auto* read = std::get_if<0>(&keys)) CheckKeys(*read);
  const auto secret = ParseSigningKey(input, "key");
  if (const auto* key = std::get_if<SigningKey>(&secret)) {
    const auto again = ParseSigningKey(cccl_cache::SigningKeyText(*key), "key");
    assert(std::get<SigningKey>(again).public_key() == key->public_key());
  }
  return 0;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A client's messages in an Acquire call. A refused message has a reason, and an accepted one keeps
// the limits. The result does not depend on the division of the bytes into pieces.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/v1/deposit.pb.h"
#include "daemon/service/wire/acquire_messages.h"
#include "tests/fuzz/seeds.h"

namespace {

namespace v1 = cccl_cache::v1;
using cccl_cache::daemon::DepositAsk;

/// Returns the decoded message as text.
std::string Seen(std::string_view bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    slices.emplace_back(part.data(), part.size());
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  const auto decoded = cccl_cache::daemon::DecodeAcquire(buffer);
  if (!decoded) {
    assert(!decoded.error().message.empty());
    return decoded.error().message;
  }
  std::string seen = std::to_string(decoded->index());
  if (const auto* contents = std::get_if<cccl_cache::daemon::LeaseContents>(&*decoded)) {
    assert(!contents->bytes.empty() && contents->bytes.size() <= bytes.size());
  }
  const auto* ask = std::get_if<DepositAsk>(&*decoded);
  if (ask == nullptr) return seen;
  assert(!ask->name_space.empty() && ask->name_space.size() <= 128);
  assert(ask->fields.size() <= 256);
  for (const auto& field : ask->fields) assert(!field.name.empty() && field.name.size() <= 256);
  const auto key = cccl_cache::DepositKey({}, ask->name_space, ask->fields);
  auto reversed = ask->fields;
  std::ranges::reverse(reversed);
  assert(cccl_cache::DepositKey({}, ask->name_space, reversed) == key);
  return seen + key.Hex() + std::to_string(ask->gid.value_or(0)) + (ask->replaces ? "r" : "") +
         (ask->waits_only ? "w" : "");
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  std::vector<std::string> seeds;
  v1::AcquireRequest key;
  key.mutable_key()->set_namespace_("org.example");
  for (const char* name : {"arch", "code"}) {
    auto& field = *key.mutable_key()->add_fields();
    field.set_name(name);
    field.set_value("value");
  }
  seeds.push_back(key.SerializeAsString());
  key.mutable_key()->mutable_group()->set_gid(1000);
  key.mutable_key()->set_wait_ms(5);
  seeds.push_back(key.SerializeAsString());
  v1::AcquireRequest word;
  word.mutable_heartbeat();
  seeds.push_back(word.SerializeAsString());
  word.Clear();
  word.set_contents("contents");
  seeds.push_back(word.SerializeAsString());
  word.Clear();
  word.mutable_publication()->set_fence(1);
  word.mutable_publication()->set_size(8);
  seeds.push_back(word.SerializeAsString());
  word.Clear();
  word.mutable_abandonment();
  seeds.push_back(word.SerializeAsString());
  word.mutable_abandonment()->set_failed(true);
  seeds.push_back(word.SerializeAsString());
  key.mutable_key()->set_accepts_release(true);
  key.mutable_key()->set_replaces(true);
  seeds.push_back(key.SerializeAsString());
  key.mutable_key()->set_waits_only(true);
  seeds.push_back(key.SerializeAsString());
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  assert(Seen(bytes, std::max<size_t>(size, 1)) == Seen(bytes, 3));
  return 0;
}

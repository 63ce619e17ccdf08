// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/admin.pb-c.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "client/src/c_abi/handles.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

using cccl_cache::After;
using cccl_cache::AppendMessage;
using cccl_cache::ByteChain;
using cccl_cache::CancellationDisabled;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::ReadStruct;
using cccl_cache::ToView;

namespace fields = cccl_cache::fields;

namespace {

constexpr std::chrono::hours kEvictTimeout{1};
constexpr std::chrono::hours kVerifyTimeout{24};

bool Read(cccl_cache::ProtoReader& reader, cccl_cache_evicted* evicted) {
  while (const uint32_t number = reader.Next()) {
    if (number == fields::EvictReply::kEntries) evicted->entries = reader.Number();
    if (number == fields::EvictReply::kBytes) evicted->bytes = reader.Number();
  }
  return reader.ok();
}

bool Read(cccl_cache::ProtoReader& reader, cccl_cache_verified* verified) {
  using Field = fields::VerifyReply;
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kEntries) verified->entries = reader.Number();
    if (number == Field::kBytes) verified->bytes = reader.Number();
    if (number == Field::kAllEntries) verified->all_entries = reader.Number();
    if (number == Field::kAllBytes) verified->all_bytes = reader.Number();
    if (number == Field::kBroken) verified->broken = reader.Number();
    if (number == Field::kUnreadable) verified->unreadable = reader.Number();
  }
  return reader.ok();
}

/// The replies of a call, each with the numbers so far; the last one is the result. Not
/// thread-safe.
template <typename Numbers>
class LastNumbers final : public cccl_cache::MessageSink {
 public:
  using Progress = void (*)(const Numbers* so_far, void* context);

  LastNumbers(Progress progress, void* context) : progress_(progress), context_(context) {}

  void Restart() override { last_.reset(); }
  bool Take(cccl_cache::Message message) override {
    Numbers numbers = {};
    numbers.struct_size = sizeof(numbers);
    cccl_cache::ProtoReader reader(message.View());
    if (!Read(reader, &numbers)) return false;
    if (progress_ != nullptr) progress_(&numbers, context_);
    last_ = numbers;
    return true;
  }

  /// None: no reply has come.
  [[nodiscard]] const std::optional<Numbers>& last() const { return last_; }

 private:
  const Progress progress_;
  void* const context_;
  std::optional<Numbers> last_;
};

template <typename Numbers>
cccl_cache_status Call(cccl_cache_client* client, const char* path, const ByteChain& body,
                       void (*progress)(const Numbers*, void*), void* context,
                       cccl_cache::Deadline deadline, Numbers* result, cccl_cache_error** error) {
  LastNumbers<Numbers> numbers(progress, context);
  auto called = client->daemon.channel().Invoke(path, body, &numbers, deadline);
  if (!called.ok()) return Fail(std::move(called).error(), error);
  if (!numbers.last()) return Fail(cccl_cache::NotUnderstood("a call"), error);
  if (result != nullptr) FillStruct(*numbers.last(), result);
  return CCCL_CACHE_OK;
}

}  // namespace

cccl_cache_status cccl_cache_evict(cccl_cache_client* client,
                                   const cccl_cache_eviction_filter* filter,
                                   cccl_cache_evict_progress progress, void* context,
                                   uint32_t timeout_ms, cccl_cache_evicted* evicted,
                                   cccl_cache_error** error) {
  const CancellationDisabled guard;
  const cccl_cache_eviction_filter given = ReadStruct(filter);
  std::vector<std::string> keys;
  for (size_t i = 0; i < given.key_count; ++i) keys.emplace_back(ToView(given.keys[i]));
  std::vector<char*> pointers;
  for (std::string& key : keys) pointers.push_back(key.data());
  std::string toolchain(ToView(given.toolchain));
  CcclCache__V1__EvictRequest request = CCCL_CACHE__V1__EVICT_REQUEST__INIT;
  request.keys = pointers.data();
  request.n_keys = pointers.size();
  request.unused_s = given.unused_seconds;
  request.toolchain = toolchain.data();
  request.all = given.all != 0;
  ByteChain body;
  AppendMessage(request.base, &body);
  return Call(client, "/cccl_cache.v1.Admin/Evict", body, progress, context,
              After(timeout_ms, kEvictTimeout), evicted, error);
}

cccl_cache_status cccl_cache_verify(cccl_cache_client* client, cccl_cache_verify_progress progress,
                                    void* context, uint32_t timeout_ms,
                                    cccl_cache_verified* verified, cccl_cache_error** error) {
  const CancellationDisabled guard;
  ByteChain body;
  cccl_cache::AppendEmptyMessage(&body);
  return Call(client, "/cccl_cache.v1.Admin/Verify", body, progress, context,
              After(timeout_ms, kVerifyTimeout), verified, error);
}

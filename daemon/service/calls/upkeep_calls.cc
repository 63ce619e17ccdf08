// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/upkeep_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "base/text.h"
#include "daemon/core/model/limits.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

v1::EvictReply ToProto(const TierSize& evicted) {
  v1::EvictReply reply;
  reply.set_entries(evicted.entries);
  reply.set_bytes(evicted.bytes);
  return reply;
}

v1::VerifyReply ToProto(const Verified& verified) {
  v1::VerifyReply reply;
  reply.set_entries(verified.read.entries);
  reply.set_bytes(verified.read.bytes);
  reply.set_all_entries(verified.all.entries);
  reply.set_all_bytes(verified.all.bytes);
  reply.set_broken(verified.broken);
  reply.set_unreadable(verified.unreadable);
  return reply;
}

Result<DigestPrefix> ReadPrefix(const char* field, const std::string& text) {
  if (auto prefix = DigestPrefix::FromHex(text)) return *std::move(prefix);
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("{}: 64 hexadecimal digits, or the first {} or more of them", field,
                           DigestPrefix::kMinDigits)};
}

Status CheckAdministrator(const Peer& peer) {
  if (peer.administrator) return Ok{};
  return Error{ErrorCode::kDenied,
               fmt::format("user {} is no administrator here: root, the daemon's user and the "
                           "members of admin_group are, outside of containers; try sudo",
                           peer.uid)};
}

}  // namespace

Result<EvictionFilter> FromProto(const v1::EvictRequest& request) {
  const int set = (request.keys_size() > 0 ? 1 : 0) + (request.unused_s() > 0 ? 1 : 0) +
                  (request.toolchain().empty() ? 0 : 1) + (request.all() ? 1 : 0);
  if (set != 1) {
    return Error{ErrorCode::kInvalidRequest,
                 "one of keys, unused_s, toolchain and all says what is evicted"};
  }
  if (static_cast<size_t>(request.keys_size()) > kMaxListed) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("keys: at most {} in one call", kMaxListed)};
  }
  EvictionFilter filter;
  filter.all = request.all();
  if (request.unused_s() > 0) {
    constexpr uint64_t kLongest = std::numeric_limits<int64_t>::max();
    filter.unused_for =
        std::chrono::seconds(static_cast<int64_t>(std::min(request.unused_s(), kLongest)));
  }
  if (!request.toolchain().empty()) {
    auto toolchain = ReadPrefix("toolchain", request.toolchain());
    if (!toolchain) return toolchain.error();
    filter.toolchain = *std::move(toolchain);
  }
  for (const std::string& text : request.keys()) {
    auto key = ReadPrefix("keys", text);
    if (!key) return key.error();
    filter.keys.push_back(*std::move(key));
  }
  return filter;
}

Status Evict(BlockingCall& call, Upkeep& upkeep) {
  if (Status may = CheckAdministrator(call.peer()); !may) return may;
  v1::EvictRequest request;
  if (Status read = call.Read(request); !read) return read;
  const Result<EvictionFilter> filter = FromProto(request);
  if (!filter) return filter.error();
  const Result<TierSize> evicted = upkeep.Evict(
      call.peer(), *filter, [&call](const TierSize& so_far) { return call.Write(ToProto(so_far)); },
      call.Caller().left);
  return evicted ? call.Write(ToProto(*evicted)) : evicted.error();
}

Status Verify(BlockingCall& call, Upkeep& upkeep) {
  if (Status may = CheckAdministrator(call.peer()); !may) return may;
  v1::VerifyRequest request;
  if (Status read = call.Read(request); !read) return read;
  const Result<Verified> verified = upkeep.Verify(
      call.peer(), [&call](const Verified& so_far) { return call.Write(ToProto(so_far)); },
      call.Caller().left);
  return verified ? call.Write(ToProto(*verified)) : verified.error();
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/reserve_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cccl_cache/v1/deposit.pb.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

constexpr size_t kMaxKindBytes = 128;

}  // namespace

ReserveCall::ReserveCall(BuildBackend& backend, const Peer& peer, CallStream& stream)
    : StreamCall(backend, peer.account(), stream), backend_(backend), peer_(peer) {
  Begin([this] {
    if (Hold(Resource::kCalls)) Read(backend_.read_gate);
  });
}

void ReserveCall::OnMessage(grpc::ByteBuffer& message) {
  v1::ReserveRequest request;
  if (const Status decoded = DecodeSmall(message, request); !decoded) return End(decoded.error());
  const auto kind = MemoryKindOf(request.kind(), peer_);
  if (!kind) return End(kind.error());
  const auto item = backend_.queue.Reserve(*kind, [this, events = events()](auto reservation) {
    // std::function needs a copyable capture.
    const auto given = std::make_shared<std::unique_ptr<Reservation>>(std::move(reservation));
    events->Post([this, given] { Take(std::move(*given)); });
  });
  if (!item) return End(item.error());
  item_ = *item;
}

void ReserveCall::Take(std::unique_ptr<Reservation> reservation) {
  if (ended()) return;
  if (reservation == nullptr) {
    return End(Error{ErrorCode::kUnavailable, "cccl-cached is stopping, and reserves no memory"});
  }
  reservation_ = std::move(reservation);
  Send(Encode(v1::ReserveReply()));
}

void ReserveCall::OnGone() {
  if (item_) backend_.queue.Remove(*item_);
  reservation_ = nullptr;
}

Result<CompileMemory::Kind> MemoryKindOf(const v1::MemoryKind& kind, const Peer& peer) {
  if (peer.uid == kOverflowUid) {
    return Error{ErrorCode::kDenied,
                 "uid 65534 stands for many users, so no memory is reserved for it"};
  }
  for (const std::string* text : {&kind.tool(), &kind.kind()}) {
    if (text->empty() || text->size() > kMaxKindBytes) {
      return Error{ErrorCode::kInvalidRequest,
                   fmt::format("kind: {} bytes in one of its fields, 1 to {} are allowed",
                               text->size(), kMaxKindBytes)};
    }
  }
  return CompileMemory::KindOf(peer.account(), kind.kind(), kind.tool());
}

}  // namespace cccl_cache::daemon

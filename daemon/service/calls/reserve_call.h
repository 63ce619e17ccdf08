// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/core/coordinator/fair_queue.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/run/compile_memory.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/stream_call.h"

namespace cccl_cache::v1 {
class MemoryKind;
}

namespace cccl_cache::daemon {

/// One call of Reserve. It holds a reservation from its reply to its end. Nothing is read after the
/// request, so that a caller can't make gRPC collect more messages. If the caller is stopped,
/// gRPC's keep-alive ends the call.
class ReserveCall final : public StreamCall {
 public:
  ReserveCall(BuildBackend& backend, const Peer& peer, CallStream& stream);

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnGone() override;
  void Take(std::unique_ptr<Reservation> reservation);

  BuildBackend& backend_;
  const Peer& peer_;
  std::optional<uint64_t> item_;  ///< the item of the queue, from the request on
  std::unique_ptr<Reservation> reservation_;
};

/// Converts the kind of memory of a request. kInvalidRequest: a field exceeds its limit. kDenied:
/// the daemon keeps no estimates for the peer.
[[nodiscard]] Result<CompileMemory::Kind> MemoryKindOf(const v1::MemoryKind& kind,
                                                       const Peer& peer);

}  // namespace cccl_cache::daemon

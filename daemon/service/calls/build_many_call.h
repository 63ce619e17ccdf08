// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/stream_call.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"

namespace cccl_cache::daemon {

/// One call of BuildMany. Each of its builds counts as a call, and its bytes as those of a call.
/// The next message may arrive at any time and waits for no turn (ReadGate), because a silent
/// stream would keep the turn for ever. So the number of such streams is bounded, and each counts
/// the maximum size of a message among its account's bytes from its beginning. The call reads no
/// requests while its caller does not read the answers.
class BuildManyCall final : public StreamCall {
 public:
  BuildManyCall(BuildBackend& backend, Peer peer, CallStream& stream);

 private:
  /// Held as long as the builder has the build, which may finish without its caller.
  struct Shares {
    Share call;
    Share bytes;  ///< of the request
  };
  /// One build in progress.
  struct Member {
    uint64_t number = 0;  ///< never given twice, unlike a tag
    std::vector<ArtifactKind> wanted;
    std::shared_ptr<Shares> shares;
    BuildCoordinator::Ticket ticket = 0;
  };

  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  void OnSpace() override { ReadMore(); }
  void OnGone() override;
  void StartBuild(uint64_t tag, grpc::ByteBuffer& message);
  void CancelBuild(uint64_t tag);
  void Answer(uint64_t tag, const Result<BuildAnswer>& answer);
  /// Sends the reply with its bytes counted, or an error if there is no room for them. `call` is
  /// held until then.
  void Reply(uint64_t tag, const grpc::ByteBuffer& message, Share call = {});
  void Refuse(uint64_t tag, const Error& error);
  void ReadMore();
  void EndIfDone();

  BuildBackend& backend_;
  const Peer peer_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, Member> members_;  ///< by tag
  bool last_read_ = false;              ///< true once the caller has sent its last message
};

}  // namespace cccl_cache::daemon

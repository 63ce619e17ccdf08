// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/core/model/peer.h"
#include "daemon/service/calls/build_call.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// One call of BuildMany. Each of its builds counts as a call, and its bytes as a call's do. The
/// next message may come at any time, and waits for no turn (ReadGate), which a stream that says
/// nothing would keep for ever: so such streams are few, and each counts from its beginning among
/// its user's bytes what a message can hold. Who does not read its answers is not read from.
/// Requests come on the server's thread, answers on the core's: each leaves a mark under the lock,
/// and whoever left one does what can be done now (GoOn). Deletes itself when the call is done.
class BuildManyCall final : public RawCall {
 public:
  BuildManyCall(BuildBackend& backend, Peer peer, CallStream& stream);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// Outlives the call, for answers may come when that is gone.
  struct Link {
    std::mutex mutex;
    BuildManyCall* call = nullptr;  // guarded by mutex; null: gone
  };
  /// One build that is under way.
  struct Member {
    std::shared_ptr<PendingBuild> pending;
    std::vector<ArtifactKind> wanted;
    Share call;
    Share bytes;  ///< of the request
  };
  struct Outgoing {
    grpc::ByteBuffer message;
    Share call;
    Share bytes;  ///< of the reply
  };

  [[nodiscard]] Status Begin();
  [[nodiscard]] Status TakeRequest();
  [[nodiscard]] Status StartBuild(uint64_t tag, CountedRequest build);
  void CancelBuild(uint64_t tag);
  void Refuse(uint64_t tag, const Error& error);
  /// The whole call ends with this, and each build in it.
  void Fail(const Error& error);

  /// The answer with its bytes counted, or what there is instead if there is no room for them.
  [[nodiscard]] Outgoing Count(uint64_t tag, grpc::ByteBuffer message);

  static void GoOn(const std::shared_ptr<Link>& link);
  // These require the link's mutex held.
  void Advance();
  void Reply(uint64_t tag, const Result<BuildAnswer>& answer);

  BuildBackend& backend_;
  const Peer peer_;
  const std::shared_ptr<Link> link_;
  Share call_;
  Share stream_;
  Share next_message_;        ///< what it may hold: it is in memory before it can be counted
  grpc::ByteBuffer message_;  ///< of who reads

  // Guarded by the link's mutex.
  std::map<uint64_t, Member> members_;
  std::deque<Outgoing> replies_;
  bool reading_ = false;
  bool last_read_ = false;  ///< the caller has said that it is done
  bool writing_ = false;
  Outgoing written_;
  std::optional<grpc::Status> end_;  ///< what the call is to end with
  bool over_ = false;                ///< ended
};

}  // namespace cccl_cache::daemon

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
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// One call of BuildMany. Each of its builds counts as a call, and its bytes as those of a call.
/// The next message may arrive at any time and waits for no turn (ReadGate), because a silent
/// stream would keep the turn for ever. So the number of such streams is bounded, and each counts
/// the maximum size of a message among its account's bytes from its beginning. The call reads no
/// requests while its caller does not read the answers. Requests arrive on the server's thread,
/// answers on the core's. Every callback records its event under the link's mutex, then calls
/// GoOn(), which starts the next operation. Deletes itself when the call is done.
class BuildManyCall final : public RawCall {
 public:
  BuildManyCall(BuildBackend& backend, Peer peer, CallStream& stream);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// Links callbacks to the call. Outlives the call, because answers may arrive after the call is
  /// gone.
  struct Link {
    std::mutex mutex;
    BuildManyCall* call = nullptr;  // guarded by mutex; null once the call is gone
  };
  /// One build in progress.
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
  /// Ends the whole call, and each build in it, with this error.
  void Fail(const Error& error);

  /// Returns the answer with its bytes counted, or an error message if there is no room for them.
  [[nodiscard]] Outgoing Count(uint64_t tag, grpc::ByteBuffer message);

  static void GoOn(const std::shared_ptr<Link>& link);
  // These require the link's mutex.
  void Advance();
  void Reply(uint64_t tag, const Result<BuildAnswer>& answer);

  BuildBackend& backend_;
  const Peer peer_;
  const std::shared_ptr<Link> link_;
  Share call_;
  Share stream_;
  /// Bytes of a message of the maximum size, because it is in memory before it can be counted.
  Share next_message_;
  grpc::ByteBuffer message_;  ///< used only by the thread that handles the message

  // Guarded by the link's mutex.
  std::map<uint64_t, Member> members_;
  std::deque<Outgoing> replies_;
  bool reading_ = false;
  bool last_read_ = false;  ///< true once the caller has sent its last message
  bool writing_ = false;
  Outgoing written_;
  std::optional<grpc::Status> end_;  ///< the status that the call will end with
  bool over_ = false;                ///< true once the call has finished
};

}  // namespace cccl_cache::daemon

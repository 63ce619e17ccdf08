// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/core/closure/file_exchange.h"
#include "daemon/core/coordinator/builder.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/stream_call.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/reply_bytes.h"

namespace cccl_cache::daemon {

/// One call that builds. It has one build, whose request is its first message, or many builds
/// (BuildMany), each with its own message. A build counts as a call, and the bytes of its request
/// count, until the builder has finished with it. That may be after the caller has left.
///
/// A request waits for its turn to be received. Requests of BuildMany do not (ReadGate), because a
/// silent stream would keep the turn for ever. The number of such streams is therefore bounded, and
/// each counts the maximum size of a message among its account's bytes from its beginning. A stream
/// reads no requests while its caller does not read the answers.
class BuildCall final : public StreamCall {
 public:
  /// Build, BuildInChunks, BuildWithFiles, BuildMany.
  enum class Form { kOneMessage, kChunks, kWithFiles, kMany };

  BuildCall(BuildBackend& backend, Peer peer, CallStream& stream, Form form);

 private:
  /// A build in progress. The builder holds it and thus its shares.
  struct Member {
    std::vector<ArtifactKind> wanted;
    Share call;
    Share bytes;                 ///< of the request
    Builder::Ticket ticket = 0;  ///< 0 while the builder starts it
  };
  using MemberPtr = std::shared_ptr<Member>;

  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  void OnSpace() override;
  void OnGone() override;
  /// Reads the request and clears the message. Counts the bytes of the message while it reads, then
  /// those of the request.
  [[nodiscard]] Result<ConvertedRequest> ReadCounted(grpc::ByteBuffer& message, Share& bytes);
  [[nodiscard]] Status StartBuild(uint64_t tag, grpc::ByteBuffer& message);
  /// Does nothing if the build has ended.
  void Answer(uint64_t tag, const MemberPtr& member, const Result<BuildAnswer>& answer);

  // For a call with one build:
  /// Sends the next chunk or the next questions. Reads while answers to questions are due. A build
  /// asks its questions on the core's threads.
  void GoOn();
  [[nodiscard]] Status TakeAnswers(grpc::ByteBuffer& message);

  // For a call with many builds:
  void TakeOfMany(grpc::ByteBuffer& message);
  void CancelBuild(uint64_t tag);
  /// Sends the reply and counts its bytes, or sends an error if there is no room for them. `call`
  /// is held until then.
  void Reply(uint64_t tag, const grpc::ByteBuffer& message, Share call = {});
  void ReadMore();
  void EndIfDone();

  BuildBackend& backend_;
  const Peer peer_;
  const Form form_;
  Share call_;                                    ///< of the stream, or of a build that has not
                                                  ///< started yet
  Share incoming_;                                ///< bytes of incomplete contents
  const std::shared_ptr<FileExchange> exchange_;  ///< null if the caller sends no files
  bool asked_ = false;                     ///< whether the request of the only build has arrived
  std::map<uint64_t, MemberPtr> members_;  ///< by tag
  std::optional<ReplyChunks> chunks_;      ///< set after the only build was answered in chunks
  bool last_read_ = false;                 ///< whether the caller has sent its last message
};

}  // namespace cccl_cache::daemon

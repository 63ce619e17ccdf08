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

/// One call that builds: one build, whose request is the first message, or many builds (BuildMany),
/// each with its own message. In the budget, a build counts as a call, and the bytes of its request
/// are counted, until the builder has finished the build. That may be after the caller has left.
///
/// A request waits for its turn at the read gate. The requests of BuildMany do not wait, because a
/// stream that sends nothing would never give up its turn (see ReadGate). So the number of these
/// streams is limited, and each stream counts the maximum size of a message from its beginning. A
/// stream reads no requests while its caller does not read the answers.
class BuildCall final : public StreamCall {
 public:
  /// The methods Build, BuildInChunks, BuildWithFiles and BuildMany, in this order.
  enum class Form { kOneMessage, kChunks, kWithFiles, kMany };

  BuildCall(BuildBackend& backend, Peer peer, CallStream& stream, Form form);

 private:
  /// A build in progress. The builder keeps this object, and thus the shares of the budget, until
  /// it has finished the build.
  struct Member {
    std::vector<ArtifactKind> wanted;
    Share call;
    Share bytes;                 ///< for the bytes of the request
    Builder::Ticket ticket = 0;  ///< 0 while the builder starts it
  };
  using MemberPtr = std::shared_ptr<Member>;

  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  void OnSpace() override;
  void OnGone() override;
  /// Reads the request and clears the message. The bytes of the message are counted while it is
  /// read, then those of the request.
  [[nodiscard]] Result<ConvertedRequest> ReadCounted(grpc::ByteBuffer& message, Share& bytes);
  [[nodiscard]] Status StartBuild(uint64_t tag, grpc::ByteBuffer& message);
  /// Sends the answer of a build. Does nothing if the build has ended already.
  void Answer(uint64_t tag, const MemberPtr& member, const Result<BuildAnswer>& answer);

  // For a call with one build:
  // Sends the next chunk of the answer, or the builder's next questions about files. Reads a
  // message if answers of the caller are due. The builder asks its questions on other threads.
  void GoOn();
  [[nodiscard]] Status TakeAnswers(grpc::ByteBuffer& message);

  // For a call with many builds:
  void TakeOfMany(grpc::ByteBuffer& message);
  void CancelBuild(uint64_t tag);
  /// Sends the reply and counts its bytes. If there is no room for the bytes, sends an error
  /// instead. The share `call` is released when the message was sent.
  void Reply(uint64_t tag, const grpc::ByteBuffer& message, Share call = {});
  void ReadMore();
  void EndIfDone();

  BuildBackend& backend_;
  const Peer peer_;
  const Form form_;
  Share call_;                                    ///< for the stream, or for a build that has not
                                                  ///< started yet
  Share incoming_;                                ///< for the bytes of incomplete contents
  const std::shared_ptr<FileExchange> exchange_;  ///< null if the caller sends no files
  bool asked_ = false;                     ///< whether the request of the only build has arrived
  std::map<uint64_t, MemberPtr> members_;  ///< the builds in progress, by tag
  std::optional<ReplyChunks> chunks_;      ///< set when the only build is answered in chunks
  bool last_read_ = false;                 ///< whether the caller has sent its last message
};

}  // namespace cccl_cache::daemon

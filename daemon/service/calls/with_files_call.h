// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <mutex>
#include <optional>

#include "daemon/core/closure/file_exchange.h"
#include "daemon/core/model/peer.h"
#include "daemon/service/calls/build_call.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/reply_bytes.h"

namespace cccl_cache::daemon {

/// One call of BuildWithFiles. Questions arrive on the core's threads, answers and the end of
/// operations on gRPC's. Every callback records its event under the link's mutex, then calls
/// GoOn(), which starts the next operation. A message is read only while an answer is awaited, and
/// waits for its turn like any request. Deletes itself when the call is done.
class WithFilesCall final : public RawCall, private GatedReader {
 public:
  WithFilesCall(BuildBackend& backend, Peer peer, CallStream& stream);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Reading { kNot, kWaitsForTurn, kUnderWay };
  /// Links callbacks to the call. Outlives the call, because questions may arrive after the call is
  /// gone.
  struct Link {
    std::mutex mutex;
    WithFilesCall* call = nullptr;  // guarded by mutex; null once the call is gone
  };

  void StartReading() override;
  void GiveUp() override { context().TryCancel(); }
  void TakeFirst();
  [[nodiscard]] Status ReadRequest();
  void StartBuild();
  void TakeAnswers();
  [[nodiscard]] Status ReadAnswers();
  void Answer(Result<BuildAnswer> answer);
  /// Ends the call with this error, unless the build was answered.
  void Abandon(const Error& error);
  void Fail(const Error& error);

  static void GoOn(const std::shared_ptr<Link>& link);
  // These require the link's mutex.
  /// Returns true if a message is to be read, so a turn is needed.
  [[nodiscard]] bool Advance();
  void WriteNext();
  void FinishIfIdle();

  BuildBackend& backend_;
  const Peer peer_;
  const std::shared_ptr<PendingBuild> pending_;
  const std::shared_ptr<Link> link_;
  const std::shared_ptr<FileExchange> exchange_;
  Share call_;
  Share bytes_;  ///< bytes of the request, later of the reply
  ConvertedRequest request_;
  // Used only by the thread that handles the message.
  grpc::ByteBuffer message_;
  Share incoming_;  ///< bytes of contents that are not complete

  // Guarded by the link's mutex.
  Reading reading_ = Reading::kWaitsForTurn;
  bool started_ = false;  ///< true once the request has arrived
  /// The gate that gives the turns. A caller that is slow to answer must not hold up other kinds of
  /// call.
  ReadGate* gate_ = &backend_.read_gate;
  bool writing_ = false;
  grpc::ByteBuffer written_;
  std::optional<ReplyChunks> chunks_;  ///< set once the build is answered
  std::optional<grpc::Status> end_;    ///< the status that the call will end with
  bool over_ = false;                  ///< true once the call has finished
};

}  // namespace cccl_cache::daemon

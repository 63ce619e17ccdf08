// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/reply_bytes.h"

namespace cccl_cache::daemon {

/// One caller's wait for an answer. The answer and the caller's leaving race: the first ends the
/// wait, and the other finds it ended. Thread-safe. Shared, because an answer can arrive after the
/// caller is gone.
class PendingBuild {
 public:
  using Answer = std::function<void(Result<BuildAnswer>)>;

  /// The builder must outlive the last call of Start and Cancel.
  explicit PendingBuild(Builder& builder) : builder_(builder) {}

  /// Asks the builder. `answer` runs at most once, perhaps before this returns, and everything that
  /// it refers to may be gone by then. Returns false, without asking, if the caller has left
  /// before.
  [[nodiscard]] static bool Start(const std::shared_ptr<PendingBuild>& pending,
                                  std::shared_ptr<const BuildRequest> request, const Caller& caller,
                                  Answer answer);

  /// Reports that the caller leaves. Returns true if that ended the wait: `answer` will not run.
  /// Returns false if `answer` has run or is running, or if Start is still to come and will return
  /// false.
  [[nodiscard]] bool Cancel();

  /// Keeps these until the builder has finished with the build, which may continue without its
  /// caller. Call it once, after Cancel returned true.
  void Hold(Share call, Share bytes);

 private:
  void End(Result<BuildAnswer> result);

  Builder& builder_;
  Mutex mutex_;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  Answer answer_ GUARDED_BY(mutex_);  ///< empty unless waiting
  BuildCoordinator::Ticket ticket_ GUARDED_BY(mutex_) = 0;
  Share call_ GUARDED_BY(mutex_);
  Share bytes_ GUARDED_BY(mutex_);
};

/// One call of Build or BuildInChunks, from its headers to its last byte. It is served as a stream
/// although the request is one message. So the call is counted, and waits for its turn, before its
/// body is received. Deletes itself when the call is done.
class BuildCall final : public RawCall, private GatedReader {
 public:
  enum class Form { kOneMessage, kChunks };

  BuildCall(BuildBackend& backend, Peer peer, CallStream& stream, Form form);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void StartReading() override;
  void GiveUp() override { context().TryCancel(); }
  void StartBuild();
  [[nodiscard]] Status ReadRequest();
  void Answer(Result<BuildAnswer> answer);
  void SendNextChunk();
  void Fail(const Error& error);

  BuildBackend& backend_;
  const Peer peer_;
  const Form form_;
  const std::shared_ptr<PendingBuild> pending_;
  Share call_;
  Share bytes_;
  grpc::ByteBuffer message_;
  ConvertedRequest request_;
  std::optional<ReplyChunks> chunks_;
};

/// A request whose texts and binaries are counted among its account's bytes.
struct CountedRequest {
  ConvertedRequest converted;
  Share bytes;
};

/// Converts the bytes of a message that holds a build to a request: ReadBuild, or a function that
/// calls it.
using BuildReader = Result<ConvertedRequest> (*)(ProtoReader& message, const ServiceLimits& limits,
                                                 const FindUpload& find_upload);

/// Reads the request and clears the message. Counts the bytes of the message while it reads, then
/// those of the request. kOverloaded: they don't fit. kInvalidRequest and kUploadNeeded as in
/// ReadBuild.
[[nodiscard]] Result<CountedRequest> ReadCounted(BuildBackend& backend, const Peer& peer,
                                                 grpc::ByteBuffer& message, BuildReader read);

}  // namespace cccl_cache::daemon

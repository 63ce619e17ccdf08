// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/child_process.h"
#include "base/files/file_descriptor.h"
#include "base/files/verified_descriptor.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/message_assembler.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// Runs one build in a child process (cccl-cache-compile), without a daemon. The caller advances it
/// in steps, so that it can wait for other events too. The destructor ends the child process and
/// its children; in a forked child it only closes descriptors. Errors are the same as from a
/// daemon. CCCL_CACHE_WORKER_CRASHED: the child process ended without a reply. Not thread-safe. It
/// can't be moved.
class LocalCompiler {
 public:
  /// Starts the child process from the executable `path`. The request is sent to it with all
  /// contents, and must outlive this object.
  static Expected<std::unique_ptr<LocalCompiler>> Start(const std::string& path,
                                                        RequestMessage* request);
  LocalCompiler(const LocalCompiler&) = delete;
  LocalCompiler& operator=(const LocalCompiler&) = delete;

  /// Sends and receives without waiting. Returns true when the build has ended.
  bool Advance();
  /// Returns the socket. Between calls of Advance the caller polls it, for writing if
  /// wants_to_write(), else for reading. -1: the program has closed it, and the build has ended.
  [[nodiscard]] int socket() const { return socket_.Get(); }
  [[nodiscard]] bool wants_to_write() const { return unsent_ > 0; }
  /// Returns whether this process started the child process. In a forked child it returns false.
  [[nodiscard]] bool owned() const { return process_.owned(); }
  /// Returns the result. Call it once, after Advance has returned true.
  Expected<BuildReply> TakeReply();
  /// Waits until the build has ended and returns the result. CCCL_CACHE_DEADLINE: the deadline has
  /// passed.
  Expected<BuildReply> Finish(Deadline deadline);

 private:
  enum class Step { kDone, kWaits, kClosed, kMalformed };

  LocalCompiler(FileDescriptor socket, ChildProcess process, const RequestMessage& request);

  Step Send();
  /// Receives the next message of the reply, without waiting.
  Step Receive(Message* message);
  /// Receives bytes without waiting. Bytes of a large message are received directly into its
  /// memory, which is `room`.
  Step ReceiveSome(std::span<char> room);

  const VerifiedDescriptor socket_;
  ChildProcess process_;
  ByteChain body_;
  ByteChain::Position sent_;
  size_t unsent_ = 0;
  MessageAssembler assembler_;
  std::array<char, 16384> buffer_;
  std::string_view rest_;
  Message error_name_;  ///< first message of the reply; null bytes: not received yet
  Message answer_;
  Step end_ = Step::kDone;
};

/// Returns the path of the executable cccl-cache-compile. If `named` is not empty, it is returned.
/// Otherwise it is the executable that was installed with this library, lies beside it, or was
/// built with it. CCCL_CACHE_UNAVAILABLE: there is none; the message has the paths.
[[nodiscard]] Expected<std::string> FindLocalCompiler(const std::string& named);

}  // namespace cccl_cache

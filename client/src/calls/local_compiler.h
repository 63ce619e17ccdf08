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

/// One build in a child process (cccl-cache-compile), without a daemon. It works in steps, for a
/// caller that waits for several events at once. The destructor ends the child and its children; in
/// a forked child it only closes descriptors. Errors are those of a daemon, and
/// CCCL_CACHE_WORKER_CRASHED if the child died. Not thread-safe; does not move.
class LocalCompiler {
 public:
  /// Starts the child and sends it all contents. The request must outlive this object.
  static Expected<std::unique_ptr<LocalCompiler>> Start(const std::string& path,
                                                        RequestMessage* request);
  LocalCompiler(const LocalCompiler&) = delete;
  LocalCompiler& operator=(const LocalCompiler&) = delete;

  /// Advances the build as far as possible without waiting. Returns true when it has ended.
  bool Advance();
  /// Returns the socket to poll between calls of Advance, for writing or for reading. -1 if the
  /// program took its number, which ends the build.
  [[nodiscard]] int socket() const { return socket_.Get(); }
  [[nodiscard]] bool wants_to_write() const { return unsent_ > 0; }
  /// Returns whether this process started the child.
  [[nodiscard]] bool owned() const { return process_.owned(); }
  /// Returns the reply. Call it once, after the build has ended.
  Expected<BuildReply> TakeReply();
  /// Runs the build to its end and returns the reply. CCCL_CACHE_DEADLINE: the deadline has passed.
  Expected<BuildReply> Finish(Deadline deadline);

 private:
  enum class Step { kDone, kWaits, kClosed, kMalformed };

  LocalCompiler(FileDescriptor socket, ChildProcess process, const RequestMessage& request);

  Step Send();
  /// Receives the next message of the reply.
  Step Receive(Message* message);
  /// Receives bytes. Those of a large message go directly into its memory.
  Step ReceiveSome(std::span<char> room);

  const VerifiedDescriptor socket_;
  ChildProcess process_;
  ByteChain body_;
  ByteChain::Position sent_;
  size_t unsent_ = 0;
  MessageAssembler assembler_;
  std::array<char, 16384> buffer_;
  std::string_view rest_;
  Message error_name_;  ///< received first; empty until then
  Message answer_;
  Step end_ = Step::kDone;
};

/// Returns the path of the cccl-cache-compile of this library: `named` if not empty, else the one
/// that was installed with the library, lies beside it, or was built with it.
/// CCCL_CACHE_UNAVAILABLE: not found; the message lists the places.
[[nodiscard]] Expected<std::string> FindLocalCompiler(const std::string& named);

}  // namespace cccl_cache

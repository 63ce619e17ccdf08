// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/message_assembler.h"
#include "client/src/transport/spawned_process.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// One build in a process of its own (cccl-cache-compile), with no daemon, in steps, for who waits
/// for several things at once. The process and what it started are gone, or ending, once this is;
/// a forked child only lets go of it. Errors are those that a daemon gives;
/// CCCL_CACHE_WORKER_CRASHED too if the process died. Not thread-safe, does not move.
class LocalCompiler {
 public:
  /// Sends all contents along; the request must outlive it.
  static Expected<std::unique_ptr<LocalCompiler>> Start(const std::string& path,
                                                        RequestMessage* request);
  LocalCompiler(const LocalCompiler&) = delete;
  LocalCompiler& operator=(const LocalCompiler&) = delete;

  /// Goes on as far as that needs no wait. True: it has ended.
  bool Advance();
  /// To wait for where Advance has not ended: until it can be written to, or until it can be read.
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] bool wants_to_write() const { return unsent_ > 0; }
  /// Whether this process started it.
  [[nodiscard]] bool owned() const { return process_.owned(); }
  /// Once, after it has ended.
  Expected<BuildReply> TakeReply();
  /// All of that in one go, by the deadline: CCCL_CACHE_DEADLINE.
  Expected<BuildReply> Finish(Deadline deadline);

 private:
  enum class Step { kDone, kWaits, kClosed, kMalformed };

  LocalCompiler(FileDescriptor socket, SpawnedProcess process, const RequestMessage& request);

  Step Send();
  /// The next message of the answer.
  Step Receive(Message* message);
  /// A large message goes straight to its place.
  Step ReceiveSome(std::span<char> room);

  const FileDescriptor socket_;
  SpawnedProcess process_;
  ByteChain body_;
  ByteChain::Position sent_;
  size_t unsent_ = 0;
  MessageAssembler assembler_;
  std::array<char, 16384> buffer_;
  std::string_view rest_;
  Message error_name_;  ///< comes first; without bytes: has not come
  Message answer_;
  Step end_ = Step::kDone;
};

/// The cccl-cache-compile that belongs to this library: installed with it, beside it, or built with
/// it. `named`: that one instead, unless empty. CCCL_CACHE_UNAVAILABLE says where it was looked
/// for.
[[nodiscard]] Expected<std::string> FindLocalCompiler(const std::string& named);

}  // namespace cccl_cache

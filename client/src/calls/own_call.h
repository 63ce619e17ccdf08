// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cccl_cache/expected.h"
#include "client/src/calls/build_conversation.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/exchange.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/build_request.h"
#include "client/src/wire/messages.h"

namespace cccl_cache {

/// One step of a build that needs calls of its own. Not thread-safe, does not move.
class OwnCall {
 public:
  enum class Step {
    kLearnLimit,  ///< asks how large a message may be
    kSendAhead,   ///< sends the next of the contents that make the request too large for one
    kBuild,       ///< answers the daemon's questions about files, takes an answer of any size
    kBuildAlone,  ///< the same without questions, for a daemon that asks none
  };

  /// The stub must outlive it.
  OwnCall(uint64_t number, Step step, std::shared_ptr<BuildRequest> request,
          const DaemonStub& daemon);

  void Start(Channel::Taken taken, Deadline deadline, Readiness* readiness);

  [[nodiscard]] uint64_t number() const { return number_; }
  [[nodiscard]] Step step() const { return step_; }
  /// Once it is started.
  [[nodiscard]] Exchange& exchange() { return *exchange_; }
  [[nodiscard]] const Exchange& exchange() const { return *exchange_; }

  // Once the exchange has ended well:
  [[nodiscard]] const Message& message() { return single_.message(); }
  /// The request names what was sent ahead from now on.
  Expected<Done> NameUpload();
  Expected<BuildReply> TakeReply();

 private:
  [[nodiscard]] const char* Path() const;

  const uint64_t number_;
  const Step step_;
  const std::shared_ptr<BuildRequest> request_;  // what the body refers to
  std::optional<BuildRequest::BlobUse> sent_ahead_;
  ByteChain body_;
  SingleMessage single_;
  BuildConversation conversation_;
  std::optional<Exchange> exchange_;  // last: it refers to the others
};

}  // namespace cccl_cache

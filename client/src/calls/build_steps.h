// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/file_answers.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/messages.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// The calls that a build may need before it has a reply. Those before kBuild prepare it.
enum class BuildStep {
  kLearnLimit,      ///< asks for the message size limit
  kSendAhead,       ///< uploads the next contents, which make the request too large for one message
  kBuild,           ///< one message each way; a batch has a stream for it
  kBuildWithFiles,  ///< answers the daemon's questions about files, takes a reply of any size
  kBuildInChunks,   ///< takes a reply of any size
};

/// The messages of one step's call. Not thread-safe, does not move.
class BuildCall {
 public:
  /// The request must outlive it.
  BuildCall(BuildStep step, RequestMessage* request, const DaemonStub& daemon);
  BuildCall(const BuildCall&) = delete;
  BuildCall& operator=(const BuildCall&) = delete;

  [[nodiscard]] BuildStep step() const { return step_; }
  [[nodiscard]] const char* path() const;
  [[nodiscard]] const ByteChain& body() const { return body_; }
  [[nodiscard]] MessageSink* sink();
  /// Returns the source of further messages; null if only the body is sent.
  [[nodiscard]] MessageSource* source();

  // Valid after the daemon has answered without an error:
  [[nodiscard]] const Message& message() { return single_.message(); }
  /// Replaces the uploaded contents in the request by their digest.
  Expected<Done> NameUpload();
  Expected<BuildReply> TakeReply();

 private:
  const BuildStep step_;
  RequestMessage& request_;
  std::optional<size_t> sent_ahead_;  ///< place of the blob
  ByteChain body_;
  SingleMessage single_;
  ChunkedReply chunked_;
  std::optional<BuildConversation> conversation_;
};

/// The sequence of calls of one build: it determines the next call, and handles the end of each
/// call. A single build makes the calls one after the other; a batch interleaves the calls of many
/// builds. Not thread-safe.
class BuildSteps {
 public:
  /// Both must outlive it.
  BuildSteps(DaemonStub* daemon, RequestMessage* request) : daemon_(*daemon), request_(*request) {}

  [[nodiscard]] BuildStep next() const;
  /// Replaces kBuild by calls that answer questions and take a reply of any size, for a build that
  /// can't use the stream of its batch.
  void GoApart() { apart_ = true; }
  /// Handles the end of a call. Returns the build's reply or error; none if another step follows.
  std::optional<Expected<BuildReply>> Took(BuildCall* call, const Expected<Done>& called);
  /// As above, for the reply alone.
  std::optional<Expected<BuildReply>> Took(BuildStep step, Expected<BuildReply> reply);

 private:
  /// Returns whether another step may succeed after this error.
  bool MayGoOn(BuildStep step, const Error& error);

  DaemonStub& daemon_;
  RequestMessage& request_;
  bool apart_ = false;
  bool no_files_ = false;            ///< the daemon does not know kBuildWithFiles
  int repairs_ = 0;                  ///< errors whose cause the next steps repair
  std::optional<Error> too_large_;   ///< the error for which the message size limit must be asked
  std::optional<BuildReply> reply_;  ///< a reply whose contents must still be fetched
};

}  // namespace cccl_cache

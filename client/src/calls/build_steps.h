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

/// The kinds of calls that a build may need. The calls before kBuild prepare the build.
enum class BuildStep {
  kLearnInfo,       ///< asks the daemon for its message size limit and its version
  kSendHeaders,     ///< uploads the header set that the request names
  kSendAhead,       ///< uploads one of the contents, because the request is too large for one
                    ///< message
  kBuild,           ///< one request and one reply; a batch uses a shared stream for it
  kBuildWithFiles,  ///< also answers the daemon's questions about files; the reply may have any
                    ///< size
  kBuildInChunks,   ///< the reply may have any size
};

/// The messages of one call. Not thread-safe. It can't be moved.
class BuildCall {
 public:
  /// `request` must outlive this object.
  BuildCall(BuildStep step, RequestMessage* request, const DaemonStub& daemon);
  BuildCall(const BuildCall&) = delete;
  BuildCall& operator=(const BuildCall&) = delete;

  [[nodiscard]] BuildStep step() const { return step_; }
  [[nodiscard]] const char* path() const;
  [[nodiscard]] const ByteChain& body() const { return body_; }
  [[nodiscard]] MessageSink* sink();
  /// Returns the source of the messages after the body. Null: there are none.
  [[nodiscard]] MessageSource* source();

  // The functions below are valid after a call that the daemon answered without an error.
  [[nodiscard]] const Message& message() { return single_.message(); }
  /// In the request, replaces the contents that were uploaded by their digest. For a header set,
  /// which the request names already, only compares the digest.
  Expected<Done> NameUpload();
  Expected<BuildReply> TakeReply();

 private:
  const BuildStep step_;
  RequestMessage& request_;
  std::optional<size_t> sent_ahead_;  ///< index in blobs() of the uploaded contents
  ByteChain uploaded_;                ///< the contents that `body_` uploads
  ByteChain body_;
  SingleMessage single_;
  ChunkedReply chunked_;
  std::optional<BuildConversation> conversation_;
};

/// Determines which calls a build needs, one after the other: next() names the next call, and Took
/// handles its end. For a single build, DaemonStub makes the calls; for a batch, DaemonBuilds. Not
/// thread-safe.
class BuildSteps {
 public:
  /// `daemon` and `request` must outlive this object.
  BuildSteps(DaemonStub* daemon, RequestMessage* request) : daemon_(*daemon), request_(*request) {}

  [[nodiscard]] BuildStep next() const;
  /// From now on next() returns calls that can answer questions about files and take a reply of any
  /// size, in place of kBuild. For a build that can't use the stream of its batch.
  void GoApart() { apart_ = true; }
  /// Handles the end of a call. Returns the result of the build. None: the build needs another
  /// call.
  std::optional<Expected<BuildReply>> Took(BuildCall* call, const Expected<Done>& called);
  /// The same for a call of which only the result is known.
  std::optional<Expected<BuildReply>> Took(BuildStep step, Expected<BuildReply> reply);

 private:
  /// Returns whether another call may succeed after this error, and prepares that call.
  bool MayGoOn(BuildStep step, const Error& error);
  std::optional<Expected<BuildReply>> TookInfo(BuildCall* call, const Expected<Done>& called);

  DaemonStub& daemon_;
  RequestMessage& request_;
  bool apart_ = false;
  bool no_files_ = false;            ///< the daemon does not know kBuildWithFiles
  bool lacks_headers_ = false;       ///< the daemon does not have the header set
  int repairs_ = 0;                  ///< number of errors so far after which another call was made
  std::optional<Error> too_large_;   ///< set: the message size limit must be asked for, because of
                                     ///< this error
  std::optional<BuildReply> reply_;  ///< set: a reply without its contents, which must still be
                                     ///< fetched
};

}  // namespace cccl_cache

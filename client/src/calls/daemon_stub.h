// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/channel.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// A build's reply, with the duration of the whole call.
struct TimedReply {
  std::shared_ptr<const BuildReply> reply;
  std::chrono::microseconds total;
  std::string why_local{};  ///< why the build was compiled locally; empty if the daemon did it
  bool from_memory =
      false;  ///< from this process' cache: the reply's timings describe an earlier build
};

class BuildSteps;

/// The daemon's RPCs as functions. Thread-safe.
class DaemonStub {
 public:
  static constexpr const char* kInfoPath = "/cccl_cache.v1.Info/Get";
  static constexpr const char* kToolchainsPath = "/cccl_cache.v1.Admin/Toolchains";

  /// Opens a stub; the arguments are as in Channel.
  explicit DaemonStub(Expected<std::string> socket,
                      std::chrono::milliseconds patience = KeepAlive::kMax)
      : channel_(std::move(socket), patience) {}

  /// Runs a build. Sends files as the daemon asks for them, if it can't open the files of this
  /// process. Uploads contents that make the request too large for one message, and fetches
  /// artifacts in chunks if the reply is too large. Learns the message size limit from a daemon
  /// that refuses a message.
  Expected<TimedReply> Build(RequestMessage* request, Deadline deadline);

  /// Returns the ExplainReply of a build: why it is a miss, without building. Uploads large
  /// contents as for a build.
  Expected<Message> Explain(RequestMessage* request, Deadline deadline);

  /// Returns the ToolchainsReply, with the default toolchain of a machine without a driver.
  Expected<Message> Toolchains(Deadline deadline) { return Ask(kToolchainsPath, deadline); }
  /// Returns the InfoReply.
  Expected<Message> Info(Deadline deadline) { return Ask(kInfoPath, deadline); }
  /// Returns whether the daemon reports SERVING.
  Expected<bool> Health(Deadline deadline);

  // For BuildSteps: the facts about the daemon that earlier calls have shown.
  /// Returns whether the request fits into one message, with the other fields of a call.
  [[nodiscard]] bool Fits(const RequestMessage& request) const;
  /// Returns the index in blobs() of the next blob to upload before the request. None: no upload is
  /// needed, or no upload would help.
  [[nodiscard]] std::optional<size_t> NextToSendAhead(const RequestMessage& request) const;
  /// Appends the messages that upload `contents`, which must outlive `body`.
  void AppendUpload(std::string_view contents, ByteChain* body) const;
  [[nodiscard]] static Expected<std::string> ReadUpload(const Message& message);
  /// Stores the message size limit of an InfoReply, if it is lower than assumed.
  void NoteLimit(const Message& info);
  /// Returns whether the daemon could not open this client's files once, so that it asks for them.
  [[nodiscard]] bool elsewhere() const { return elsewhere_; }
  void NoteElsewhere() { elsewhere_ = true; }

  /// Returns the channel, for the long calls of DaemonBuilds and DepositCalls.
  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const std::string& socket() const { return channel_.socket(); }

 private:
  /// Makes the build's next call. Returns the reply or error; none if another step follows.
  std::optional<Expected<BuildReply>> MakeCall(BuildSteps* steps, RequestMessage* request,
                                               Deadline deadline);
  /// Makes a call with an empty request.
  Expected<Message> Ask(std::string_view path, Deadline deadline);
  Expected<Message> Unary(std::string_view path, const ByteChain& body, Deadline deadline);

  Channel channel_;
  /// The daemon's message size limit in bytes; the default until a lower limit is known.
  std::atomic<size_t> message_limit_{size_t{16} << 20};
  /// Set if the daemon could not open this client's files, so that it asks for them.
  std::atomic<bool> elsewhere_{false};
};

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/channel.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// The reply of a build, and the duration of the whole call.
struct TimedReply {
  std::shared_ptr<const BuildReply> reply;
  std::chrono::microseconds total;
  std::string why_local{};  ///< why the local compiler did the build; empty: the daemon did it
  bool from_memory =
      false;  ///< from the result cache; the timings in the reply describe an earlier build
};

class BuildSteps;

/// Functions for the daemon's RPCs. Thread-safe.
class DaemonStub {
 public:
  static constexpr const char* kInfoPath = "/cccl_cache.v1.Info/Get";
  static constexpr const char* kToolchainsPath = "/cccl_cache.v1.Admin/Toolchains";

  /// The arguments are those of Channel.
  explicit DaemonStub(Expected<std::string> socket,
                      std::chrono::milliseconds patience = KeepAlive::kMax)
      : channel_(std::move(socket), patience) {}

  /// Runs a build. If the daemon can't open the files of this process, sends the files that it asks
  /// for. If the request is too large for one message, uploads contents first; if the reply is,
  /// fetches the artifacts in chunks. If the daemon refuses a message as too large, asks for its
  /// limit.
  Expected<TimedReply> Build(RequestMessage* request, Deadline deadline);

  /// Returns an encoded ExplainReply, which says whether the build is a hit or why not. Nothing is
  /// compiled. Uploads contents first if the request is too large for one message.
  Expected<Message> Explain(RequestMessage* request, Deadline deadline);

  /// Returns an encoded ToolchainsReply. Its default toolchain is that of a machine without a
  /// driver.
  Expected<Message> Toolchains(Deadline deadline) { return Ask(kToolchainsPath, deadline); }
  /// Returns an encoded InfoReply.
  Expected<Message> Info(Deadline deadline) { return Ask(kInfoPath, deadline); }
  /// Returns whether the daemon's health service reports SERVING.
  Expected<bool> Health(Deadline deadline);

  // Functions for BuildSteps, about properties of the daemon that earlier calls have shown.
  /// Returns whether the request fits into one message, with the other fields of a call.
  [[nodiscard]] bool Fits(const RequestMessage& request) const;
  /// Returns the index in blobs() of the largest blob that can still be uploaded. None: the request
  /// fits into one message, or no upload would make it smaller.
  [[nodiscard]] std::optional<size_t> NextToSendAhead(const RequestMessage& request) const;
  /// Appends the messages that upload `contents` to `body`. The contents must outlive `body`.
  void AppendUpload(const ByteChain& contents, ByteChain* body) const;
  [[nodiscard]] static Expected<std::string> ReadUpload(const Message& message);
  /// Lowers the message size limit to that of an InfoReply. A higher limit is ignored. Also notes
  /// the daemon's minor version.
  void NoteInfo(const Message& info);
  /// Returns the minor version of the daemon's API. None: no InfoReply has told it.
  [[nodiscard]] std::optional<uint32_t> api_minor() const;
  /// Returns whether the daemon failed to open files of this client. If so, later builds send them.
  [[nodiscard]] bool elsewhere() const { return elsewhere_; }
  void NoteElsewhere() { elsewhere_ = true; }

  /// Returns the channel, for calls that other classes make themselves.
  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const std::string& socket() const { return channel_.socket(); }

 private:
  /// Makes the next call of a build. Returns the build's result. None: another call must follow.
  std::optional<Expected<BuildReply>> MakeCall(BuildSteps* steps, RequestMessage* request,
                                               Deadline deadline);
  /// Makes a call with an empty request.
  Expected<Message> Ask(std::string_view path, Deadline deadline);
  Expected<Message> Unary(std::string_view path, const ByteChain& body, Deadline deadline);

  Channel channel_;
  /// The daemon's message size limit in bytes; the default until a lower limit is known.
  std::atomic<size_t> message_limit_{size_t{16} << 20};
  /// The daemon's minor version, or kUnknownMinor.
  static constexpr uint32_t kUnknownMinor = UINT32_MAX;
  std::atomic<uint32_t> api_minor_{kUnknownMinor};
  /// See elsewhere().
  std::atomic<bool> elsewhere_{false};
};

}  // namespace cccl_cache

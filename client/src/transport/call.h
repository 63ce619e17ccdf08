// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/message_assembler.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// The status of a call, from its headers and trailers. Not thread-safe.
class GrpcStatus {
 public:
  /// Adds one header or trailer. Unknown ones are ignored.
  void AddField(std::string_view name, std::string_view value);

  /// Returns whether the trailers arrived and report success.
  [[nodiscard]] bool ok() const { return code_ == 0; }
  /// Returns the error for the caller. Call it only if not ok().
  [[nodiscard]] Error ToError() const;

 private:
  [[nodiscard]] cccl_cache_status Classify() const;

  static constexpr int kMissing = -1;

  int code_ = kMissing;
  int http_status_ = 0;
  std::string message_;
  std::string error_name_;
  uint32_t retry_after_ms_ = 0;
};

/// Returns the status with this name in the trailer `cccl-error`, if there is one.
[[nodiscard]] std::optional<cccl_cache_status> StatusOfName(std::string_view name);

/// Decodes gRPC's percent-encoding. Malformed sequences stay unchanged.
[[nodiscard]] std::string PercentDecode(std::string_view text);

/// Receives the messages of a reply, one after the other.
class MessageSink {
 public:
  virtual ~MessageSink() = default;

  /// Called whenever the call is sent, also again. Discards the messages received so far.
  virtual void Restart() = 0;
  /// Returns false if the message is unexpected; the call then ends as kMalformed.
  virtual bool Take(Message message) = 0;
};

/// The messages that follow the request while the reply arrives.
class MessageSource {
 public:
  virtual ~MessageSource() = default;

  /// Returns the next messages, or null if there are none now. The previous messages are no longer
  /// used.
  virtual const ByteChain* Next() = 0;
  /// Returns whether no more messages follow; the stream is then half-closed.
  [[nodiscard]] virtual bool done() const { return false; }
};

/// The end of a call, as far as the transport is concerned.
enum class CallEnd {
  kAnswered,  ///< with a gRPC status
  kRefused,   ///< before the connection was set up, or unprocessed because the server is overloaded
  kUnsent,    ///< unprocessed because the server stops: safe to send on a new connection
  kLost,      ///< the connection ended in the middle
  kDeadline,
  kSilent,     ///< the other end does not answer HTTP/2 PING
  kMalformed,  ///< the other end does not speak gRPC, or violates the protocol
};

/// One call on one connection: the unsent part of the request, and the reply so far. Each attempt
/// has a new object. Not thread-safe; body, sink and source must outlive it.
class Call {
 public:
  /// Without a source only the body is sent.
  Call(std::string_view path, const ByteChain& body, MessageSink* sink, Deadline deadline,
       MessageSource* source = nullptr);

  [[nodiscard]] std::string_view path() const { return path_; }
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  [[nodiscard]] const GrpcStatus& status() const { return status_; }

  [[nodiscard]] size_t unsent() const { return unsent_; }
  /// Returns whether the source may have more messages.
  [[nodiscard]] bool goes_on() const { return source_ != nullptr && !said_all_; }
  /// Takes the source's next messages. Called after everything was sent and nothing refers to the
  /// earlier messages. Returns true if there are new messages, or if the source has ended.
  bool TakeMore();
  /// Appends the next bytes of the body to `output`, as references.
  void MoveBody(size_t bytes, ByteChain* output);

  /// See MessageAssembler::Room.
  [[nodiscard]] std::span<char> Room() { return assembler_.Room(); }
  void AddField(std::string_view name, std::string_view value) { status_.AddField(name, value); }
  void AddData(std::string_view bytes);

  /// Ends the call. Only the first end counts.
  void End(CallEnd end);
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] CallEnd end() const { return end_; }

  int32_t stream_id = 0;  ///< the id of its HTTP/2 stream
  bool stream_open = false;

 private:
  const std::string_view path_;
  const ByteChain* body_;
  MessageSink* const sink_;
  MessageSource* const source_;
  const Deadline deadline_;
  ByteChain::Position sent_;
  size_t unsent_;
  bool said_all_ = false;
  MessageAssembler assembler_;
  GrpcStatus status_;
  bool ended_ = false;
  CallEnd end_ = CallEnd::kLost;
};

}  // namespace cccl_cache

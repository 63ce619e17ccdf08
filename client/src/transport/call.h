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

/// The gRPC status of a call, which is collected from its headers and trailers. Not thread-safe.
class GrpcStatus {
 public:
  /// Adds a header or trailer. Ignores those with unknown names.
  void AddField(std::string_view name, std::string_view value);

  /// Returns whether the trailers arrived and report success.
  [[nodiscard]] bool ok() const { return code_ == 0; }
  /// Returns the error of a call that failed. Call it only if ok() is false.
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

/// Returns the status for an error name from the trailer `cccl-error`. None: the name is unknown.
[[nodiscard]] std::optional<cccl_cache_status> StatusOfName(std::string_view name);

/// Decodes the percent-encoding of grpc-message. Malformed sequences are not changed.
[[nodiscard]] std::string PercentDecode(std::string_view text);

/// Receives the messages of a reply.
class MessageSink {
 public:
  virtual ~MessageSink() = default;

  /// Called each time the call is sent, also for a retry. Discards the messages of earlier
  /// attempts.
  virtual void Restart() = 0;
  /// Takes the next message. Returns false if it is not valid here; the call then ends as
  /// kMalformed.
  virtual bool Take(Message message) = 0;
};

/// Supplies the messages of a request that are sent after the body, while the reply may arrive.
class MessageSource {
 public:
  virtual ~MessageSource() = default;

  /// Returns the next messages. Null: there are none at present. The caller no longer uses the
  /// messages from the previous call of Next.
  virtual const ByteChain* Next() = 0;
  /// Returns whether all messages were returned. The stream is then half-closed.
  [[nodiscard]] virtual bool done() const { return false; }
};

/// How a call ended on the transport.
enum class CallEnd {
  kAnswered,  ///< the server sent a gRPC status
  kRefused,   ///< not processed: the server did not accept the connection, or is overloaded
  kUnsent,    ///< not processed: the server stops; the call can be sent on a new connection
  kLost,      ///< the connection ended during the call
  kDeadline,
  kSilent,     ///< the server did not answer an HTTP/2 PING
  kMalformed,  ///< the other end does not speak gRPC, or violates the protocol
};

/// One attempt of a call on one connection: the part of the request that is not sent yet, and the
/// reply so far. Not thread-safe. The objects `body`, `sink` and `source` must outlive it.
class Call {
 public:
  /// `source`: null if only the body is sent.
  Call(std::string_view path, const ByteChain& body, MessageSink* sink, Deadline deadline,
       MessageSource* source = nullptr);

  [[nodiscard]] std::string_view path() const { return path_; }
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  [[nodiscard]] const GrpcStatus& status() const { return status_; }

  [[nodiscard]] size_t unsent() const { return unsent_; }
  /// Returns whether the source may have more messages after the bytes so far.
  [[nodiscard]] bool goes_on() const { return source_ != nullptr && !said_all_; }
  /// Makes the next messages of the source the bytes to send. May be called only when the bytes so
  /// far were sent and nothing refers to them. Returns true if there are new messages, or if the
  /// source has no more, so that the stream must be half-closed.
  bool TakeMore();
  /// Moves the next `bytes` unsent bytes to `output`, as references.
  void MoveBody(size_t bytes, ByteChain* output);

  /// Returns memory for received bytes; see MessageAssembler::Room.
  [[nodiscard]] std::span<char> Room() { return assembler_.Room(); }
  void AddField(std::string_view name, std::string_view value) { status_.AddField(name, value); }
  void AddData(std::string_view bytes);

  /// Ends the call. Has no effect if the call has ended already.
  void End(CallEnd end);
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] CallEnd end() const { return end_; }

  int32_t stream_id = 0;  ///< id of the call's HTTP/2 stream
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

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

/// How a call ended, as its headers and trailers said. Not thread-safe.
class GrpcStatus {
 public:
  /// One header or trailer; those that mean nothing here are ignored.
  void AddField(std::string_view name, std::string_view value);

  /// The trailers were there and the call went well.
  [[nodiscard]] bool ok() const { return code_ == 0; }
  /// What to tell the caller; only if not ok().
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

/// What the trailer `cccl-error` calls by this name, if anything.
[[nodiscard]] std::optional<cccl_cache_status> StatusOfName(std::string_view name);

/// Undoes gRPC's percent-encoding; what is not well-formed stays as it is.
[[nodiscard]] std::string PercentDecode(std::string_view text);

/// Takes the messages of an answer, one after the other.
class MessageSink {
 public:
  virtual ~MessageSink() = default;

  /// The call is sent (again): what came so far counts no longer.
  virtual void Restart() = 0;
  /// False: this message should not have come; the call ends as kMalformed.
  virtual bool Take(Message message) = 0;
};

/// What is said after the request, as the answer goes on.
class MessageSource {
 public:
  virtual ~MessageSource() = default;

  /// The next messages; null: there is nothing to say now. What was returned before is not used any
  /// more.
  virtual const ByteChain* Next() = 0;
  /// Nothing more will be said: the server is told so.
  [[nodiscard]] virtual bool done() const { return false; }
};

/// How a call ended, as far as the transport is concerned.
enum class CallEnd {
  kAnswered,  ///< with a gRPC status
  kRefused,   ///< before the connection was set up, or not processed: the server has too much to do
  kUnsent,    ///< the server did not process it because it goes away: safe to send on a new
              ///< connection
  kLost,      ///< the connection ended in the middle
  kDeadline,
  kSilent,     ///< the other end does not even say that it is there
  kMalformed,  ///< the other end does not speak gRPC, or not as agreed
};

/// One call on one connection: what is still to be sent, and the answer so far. Made anew for each
/// attempt. Not thread-safe; body, sink and source must outlive it.
class Call {
 public:
  /// Without a source the body is all that is sent.
  Call(std::string_view path, const ByteChain& body, MessageSink* sink, Deadline deadline,
       MessageSource* source = nullptr);

  [[nodiscard]] std::string_view path() const { return path_; }
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  [[nodiscard]] const GrpcStatus& status() const { return status_; }

  [[nodiscard]] size_t unsent() const { return unsent_; }
  /// Whether more may be to be sent than what is there now.
  [[nodiscard]] bool goes_on() const { return source_ != nullptr && !said_all_; }
  /// Once all was sent and nothing refers to it: takes what the source has to say. True: something,
  /// if only that it has said all.
  bool TakeMore();
  /// The next bytes of the body, as references into it.
  void MoveBody(size_t bytes, ByteChain* output);

  /// See MessageAssembler::Room.
  [[nodiscard]] std::span<char> Room() { return assembler_.Room(); }
  void AddField(std::string_view name, std::string_view value) { status_.AddField(name, value); }
  void AddData(std::string_view bytes);

  /// The first end counts.
  void End(CallEnd end);
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] CallEnd end() const { return end_; }

  int32_t stream_id = 0;  ///< HTTP/2's number for it
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

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"

namespace cccl_cache {

/// The largest number of bytes of contents that one message of a stream may carry (protocol limit).
inline constexpr size_t kMaxPiece = size_t{1} << 20;

/// Returns the error for an answer of the daemon that can't be decoded. `what` names the request.
[[nodiscard]] Error NotUnderstood(std::string_view what);

// The functions below append messages in gRPC's encoding: a head of 5 bytes, which holds the
// length, then the bytes of the message.

/// Appends the head of a message of `size` bytes. The caller must append the message next.
void AppendHead(size_t size, ByteChain* body);
/// Appends bytes of a message. From 2 KiB on, the bytes are referenced instead of copied, and must
/// outlive the chain.
void AppendPiece(std::string_view bytes, ByteChain* body);
/// Appends the head and a copy of an encoded message.
void AppendMessage(std::string_view message, ByteChain* body);
/// Appends a message: the field `field` with the value `bytes`, then the encoded fields in `rest`.
/// `bytes` is referenced, not copied, and must outlive the chain.
void AppendBytesMessage(uint32_t field, std::string_view bytes, ByteChain* body,
                        std::string_view rest = {});

/// Receives the answer of a unary call, which is exactly one message.
class SingleMessage final : public MessageSink {
 public:
  void Restart() override;
  bool Take(Message message) override;

  [[nodiscard]] bool received() const { return received_; }
  [[nodiscard]] Message& message() { return message_; }

 private:
  Message message_;
  bool received_ = false;
};

/// Receives the answer of a BuildInChunks call: the reply, then the contents of its artifacts in
/// pieces.
class ChunkedReply final : public MessageSink {
 public:
  void Restart() override;
  bool Take(Message message) override;

  /// Returns whether the reply and the whole contents of all artifacts have been received.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] Message& reply() { return reply_; }
  [[nodiscard]] std::vector<Message>& contents() { return contents_; }

 private:
  bool TakeReply(std::string_view reply);
  bool TakeData(std::string_view data);

  Message reply_;
  bool started_ = false;
  std::vector<Message> contents_;
  size_t current_ = 0;   ///< index of the artifact that the next piece belongs to
  size_t received_ = 0;  ///< bytes of that artifact that have been received
};

}  // namespace cccl_cache

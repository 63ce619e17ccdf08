// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"

namespace cccl_cache {

/// The protocol's limit for the contents or data of one message in a stream, in bytes.
inline constexpr size_t kMaxPiece = size_t{1} << 20;

/// Returns the error for an answer that is not a message of the protocol. `what` is the question.
[[nodiscard]] Error NotUnderstood(std::string_view what);

// Messages in gRPC's encoding: a head of five bytes with the length, then the message.

/// Appends the head. The message must follow.
void AppendHead(size_t size, ByteChain* body);
/// Appends bytes of a message. Large ones are referenced, not copied, and must outlive the chain.
void AppendPiece(std::string_view bytes, ByteChain* body);
/// Appends a copy of an encoded message.
void AppendMessage(std::string_view message, ByteChain* body);
/// Appends a message with a field of bytes, which is referenced, followed by encoded fields.
void AppendBytesMessage(uint32_t field, std::string_view bytes, ByteChain* body,
                        std::string_view rest = {});

/// The only message in the answer of a unary call.
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

/// The response of BuildInChunks: a reply, then the contents of its artifacts in pieces.
class ChunkedReply final : public MessageSink {
 public:
  void Restart() override;
  bool Take(Message message) override;

  /// Returns whether the reply and all announced contents have arrived.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] Message& reply() { return reply_; }
  [[nodiscard]] std::vector<Message>& contents() { return contents_; }

 private:
  bool TakeReply(std::string_view reply);
  bool TakeData(std::string_view data);

  Message reply_;
  bool started_ = false;
  std::vector<Message> contents_;
  size_t current_ = 0;   ///< index of the next piece's artifact
  size_t received_ = 0;  ///< bytes received of it
};

}  // namespace cccl_cache

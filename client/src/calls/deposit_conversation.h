// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"

namespace cccl_cache {

/// What is said on an Acquire after its key: by the daemon what was found, or the lease; by its
/// holder signs of life, and at last what was made. Not thread-safe.
class DepositConversation final : public MessageSink, public MessageSource {
 public:
  void Restart() override { *this = DepositConversation(); }
  bool Take(Message message) override;
  const ByteChain* Next() override;

  /// The caller holds the lease; until then nothing may be said.
  [[nodiscard]] bool granted() const { return granted_; }
  /// All that was announced has come.
  [[nodiscard]] bool found() const { return announced_ && contents_.size() == size_; }
  [[nodiscard]] bool published() const { return published_; }

  [[nodiscard]] std::string& key() { return key_; }  ///< hexadecimal
  [[nodiscard]] std::string& contents() { return contents_; }
  [[nodiscard]] uint64_t fence() const { return fence_; }
  [[nodiscard]] std::chrono::milliseconds heartbeat() const { return heartbeat_; }

  void SayHeartbeat() { heartbeat_due_ = true; }
  /// The contents must outlive the call.
  void SayPublication(std::string_view contents);
  void SayAbandonment() { abandonment_due_ = true; }

 private:
  bool TakeFound(std::string_view found);
  bool TakeLease(std::string_view lease);
  bool TakeContents(std::string_view contents);

  std::string key_;
  bool announced_ = false;
  uint64_t size_ = 0;
  std::string contents_;
  bool granted_ = false;
  uint64_t fence_ = 0;
  std::chrono::milliseconds heartbeat_{0};
  bool published_ = false;

  bool heartbeat_due_ = false;
  std::string_view rest_;  ///< of what is published: not yet in a message
  bool publication_due_ = false;
  uint64_t published_size_ = 0;
  bool abandonment_due_ = false;
  ByteChain message_;  ///< what is being sent
};

}  // namespace cccl_cache

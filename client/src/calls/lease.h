// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

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

/// A lease of this process, with the connection on which it was granted and a thread that says on
/// it that the holder lives. Belongs to the process that acquired it: a forked child holds nothing.
/// Not thread-safe, but for held().
class HeldLease {
 public:
  /// The call was granted the lease; the conversation is the call's.
  HeldLease(OpenCall open, std::unique_ptr<DepositConversation> conversation, std::string socket);
  /// Abandons it if it is held.
  ~HeldLease();
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

  /// As far as is known.
  [[nodiscard]] bool held() const;
  [[nodiscard]] const std::string& key() const { return conversation_->key(); }
  [[nodiscard]] uint64_t fence() const { return conversation_->fence(); }

  /// Whatever comes of it, the lease is not held afterwards.
  Expected<Done> Publish(std::string_view contents, Deadline deadline);
  void Abandon();

 private:
  static void* RunThread(void* self);
  void KeepAlive();
  void StopThread();
  /// Talks until the call has ended.
  void Converse(const Deadline& deadline);
  /// What came of a publication; `said`: something of it went out.
  [[nodiscard]] Expected<Done> Outcome(bool said) const;

  const std::unique_ptr<DepositConversation> conversation_;
  const OpenCall open_;
  const std::string socket_;
  const pid_t owner_;
  const FileDescriptor wake_;
  pthread_t thread_{};
  bool has_thread_ = false;
  std::atomic<bool> over_{false};  ///< published or abandoned
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  ///< the daemon ended the call
};

}  // namespace cccl_cache

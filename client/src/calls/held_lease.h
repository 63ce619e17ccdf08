// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/calls/deposit_conversation.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/file_descriptor.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

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

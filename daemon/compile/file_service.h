// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Counts, for each user, the threads that still wait for a disk after their job has ended. They
/// can't be ended, so a user with too many of them may start no more. Thread-safe.
class HungReads {
 public:
  static constexpr size_t kMaxPerUid = 16;
  static constexpr size_t kMax = 256;  ///< of all users

  void Begin(Account account);
  void End(Account account);

  /// Returns whether this user's jobs may not ask for files any more.
  [[nodiscard]] bool Full(Account account) const;
  [[nodiscard]] size_t count() const;

 private:
  mutable Mutex mutex_;
  std::map<Account, size_t> of_ GUARDED_BY(mutex_);  // no zeros
  HeldInAll count_ GUARDED_BY(mutex_);
};

/// The hung reads of one user. Shared with the threads, because those that hang may outlive the
/// table's owner.
struct HungReadsOf {
  std::shared_ptr<HungReads> table;
  Account account;
};

/// Answers one worker's questions about files (packet.h) on a thread of its own, so that the
/// session that watches the worker never waits for a disk. If that thread hangs when the job is
/// over, it is abandoned. Used by the session's thread only.
class FileService {
 public:
  /// `channel`: the daemon's end of the files socket.
  FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);
  ~FileService() { Close(); }
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;

  /// Returns a descriptor that becomes readable when an error occurs that must end the worker;
  /// negative if the process had no descriptor left.
  [[nodiscard]] int error_fd() const;
  /// Returns the error that must end the worker, or none.
  [[nodiscard]] std::optional<Error> error() const;
  /// Returns why no question can be answered, or none. The first question then finds the channel
  /// closed; a worker that asks nothing is not affected.
  [[nodiscard]] const std::optional<Error>& failure_to_start() const { return failure_to_start_; }
  /// Returns the name of the file that is being waited for, or "".
  [[nodiscard]] std::string asking() const;

  /// Ends the service: asks for no more files. Returns false if a question still waits for the
  /// disk; the files are then in use, and the question counts as hung, until the disk answers.
  bool Close();

 private:
  class Conversation;

  void FailToStart(std::string why);

  const std::shared_ptr<Conversation> conversation_;  ///< shared with the thread
  std::optional<Error> failure_to_start_;
  std::thread thread_;
};

}  // namespace cccl_cache::daemon

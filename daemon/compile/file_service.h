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

/// Counts, for each user, the threads that still wait for a file system although their job has
/// ended. Such a thread can't be ended. A user with too many of them can't start more. Thread-safe.
class HungReads {
 public:
  static constexpr size_t kMaxPerUid = 16;
  static constexpr size_t kMax = 256;  ///< limit for all users together

  void Begin(Account account);
  void End(Account account);

  /// Returns whether this user has so many hung reads that its jobs must not ask for files.
  [[nodiscard]] bool Full(Account account) const;
  [[nodiscard]] size_t count() const;

 private:
  mutable Mutex mutex_;
  std::map<Account, size_t> of_ GUARDED_BY(mutex_);  // only users with at least one hung read
  HeldInAll count_ GUARDED_BY(mutex_);
};

/// The counter of hung reads, and the account that is charged. The counter is shared with the
/// threads, because a thread that hangs may outlive the WorkerCompiler.
struct HungReadsOf {
  std::shared_ptr<HungReads> table;
  Account account;
};

/// Answers a worker's questions about files (packet.h) on a separate thread, so that the thread of
/// the WorkerSession never waits for a file system. If the separate thread still waits when the job
/// ends, it is detached. All functions must be called on the thread of the session.
class FileService {
 public:
  /// `channel`: the daemon's end of the files socket.
  FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);
  ~FileService() { Close(); }
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;

  /// Returns a descriptor that becomes readable when error() is set. Negative if the process has no
  /// free descriptor.
  [[nodiscard]] int error_fd() const;
  /// Returns the error for which the session must kill the worker; none if there was none.
  [[nodiscard]] std::optional<Error> error() const;
  /// Returns why no question can be answered, or none. The first question then finds the channel
  /// closed; a worker that asks nothing is not affected.
  [[nodiscard]] const std::optional<Error>& failure_to_start() const { return failure_to_start_; }
  /// Returns the name of the file that the thread is reading now, or "".
  [[nodiscard]] std::string asking() const;

  /// Ends the service: no further question is answered. Returns false if the thread still waits for
  /// a file system. It then still uses the JobFiles, and counts as hung until the file system
  /// answers.
  bool Close();

 private:
  class Conversation;

  void FailToStart(std::string why);

  const std::shared_ptr<Conversation> conversation_;  ///< shared with the thread
  std::optional<Error> failure_to_start_;
  std::thread thread_;
};

}  // namespace cccl_cache::daemon

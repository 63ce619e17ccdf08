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

/// One worker's questions about files (packet.h) and the daemon's answers. Run() has a thread of
/// its own; the other functions may be called from any thread. Owned by shared_ptr, because a
/// thread that waits for a hung disk is abandoned.
class FileConversation {
 public:
  FileConversation(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);

  /// Returns the error if the user may not ask for files now.
  [[nodiscard]] std::optional<Error> Refusal() const;

  /// Answers questions until the worker or the daemon closes the channel, or an error occurs.
  void Run();

  /// Ends the conversation: asks for no more files, and makes Run() return soon. Returns false if a
  /// question still waits for the disk, which counts as hung until the disk answers.
  [[nodiscard]] bool Close();

  /// Returns a descriptor that becomes readable when an error occurs; negative if the process had
  /// no descriptor left.
  [[nodiscard]] int error_fd() const { return error_event_.get(); }
  [[nodiscard]] int channel() const { return channel_.get(); }
  /// Returns the error that must end the worker, or none.
  [[nodiscard]] std::optional<Error> error() const;
  /// Returns the name of the file that is being waited for, or "".
  [[nodiscard]] std::string asking() const;

 private:
  /// Returns false if there are no more questions.
  [[nodiscard]] bool AnswerNext();
  /// Returns none if the conversation was closed meanwhile.
  [[nodiscard]] std::optional<Result<FileAnswer>> Ask(const FileQuestion& question);
  [[nodiscard]] Result<FileAnswer> AnswerTo(const FileQuestion& question);
  /// Returns an error if the worker has asked for more than the bounds of packet.h allow.
  [[nodiscard]] std::optional<Error> CountAgainstBounds(const FileAnswer& answer);
  /// Returns false if the worker is gone.
  [[nodiscard]] bool Send(const FileAnswer& answer);
  void Fail(Error error);

  const FileDescriptor channel_;
  const FileDescriptor error_event_;
  const std::shared_ptr<JobFiles> files_;
  const HungReadsOf hung_;
  uint64_t questions_ = 0;    ///< used by Run()'s thread only, like handed_over_
  uint64_t handed_over_ = 0;  ///< bytes

  mutable Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  bool counted_ GUARDED_BY(mutex_) = false;  ///< it is counted in hung_
  std::string asking_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

/// Serves the questions of one worker for the session that watches it, and never waits for a disk.
/// The first question starts a thread. If that thread hangs when the job is over, it is abandoned.
/// Used by the session's thread only.
class FileService {
 public:
  /// `channel`: the daemon's end of the files socket.
  FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);
  ~FileService() { Close(); }
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;

  /// Returns the descriptor to poll: call Continue() when it is readable. -1: do not poll.
  [[nodiscard]] int fd() const { return fd_; }
  /// Returns the error that must end the worker, or none.
  [[nodiscard]] std::optional<Error> Continue();

  /// Ends the conversation. Returns false if a question hangs; the files are then in use until it
  /// is answered.
  bool Close();

  /// Returns the error that ended the worker, or none.
  [[nodiscard]] std::optional<Error> error() const { return conversation_->error(); }
  /// Returns the name of the file that is being waited for, or "".
  [[nodiscard]] std::string asking() const { return conversation_->asking(); }

 private:
  [[nodiscard]] std::optional<Error> Start();

  const std::shared_ptr<FileConversation> conversation_;
  int fd_;  ///< the channel; once the thread runs, the error event
  std::thread thread_;
};

}  // namespace cccl_cache::daemon

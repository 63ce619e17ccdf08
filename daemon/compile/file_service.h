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

/// Counts, for each user, the threads that still wait for a disk although their job is over. They
/// can't be ended, so a user who has too many may start no more. Thread-safe.
class HungReads {
 public:
  static constexpr size_t kMaxPerUid = 16;
  static constexpr size_t kMax = 256;  ///< of all users

  void Begin(Account account);
  void End(Account account);

  /// Returns whether the jobs of this user may no longer ask for files.
  [[nodiscard]] bool Full(Account account) const;
  [[nodiscard]] size_t count() const;

 private:
  mutable Mutex mutex_;
  std::map<Account, size_t> of_ GUARDED_BY(mutex_);  // no zeros
  HeldInAll count_ GUARDED_BY(mutex_);
};

/// The hung reads of one user. Threads that hang hold the table by shared_ptr: it may outlive its
/// owner.
struct HungReadsOf {
  std::shared_ptr<HungReads> table;
  Account account;
};

/// One worker's questions about files (packet.h) and the daemon's answers. Run() has a thread of
/// its own; the other functions may be called from any thread. A shared_ptr holds it, so that the
/// thread can be abandoned while it waits for a disk that hangs.
class FileConversation {
 public:
  FileConversation(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);

  /// Returns the reason if the user may ask no questions now.
  [[nodiscard]] std::optional<Error> Refusal() const;

  /// Answers questions until the worker or the daemon has closed the channel, or there is an error.
  void Run();

  /// Ends the conversation: nothing more is asked of the files, and Run() ends as soon as it can.
  /// Returns false if a question still waits for the disk. It counts as hung until the disk
  /// answers.
  [[nodiscard]] bool Close();

  /// Returns a descriptor that is readable once there is an error. It is negative if the system had
  /// no descriptor left.
  [[nodiscard]] int error_fd() const { return error_event_.get(); }
  [[nodiscard]] int channel() const { return channel_.get(); }
  /// Returns the error for which the worker must end, if any.
  [[nodiscard]] std::optional<Error> error() const;
  /// Returns the name whose answer is being waited for, or an empty string.
  [[nodiscard]] std::string asking() const;

 private:
  /// Returns false if there will be no more questions.
  [[nodiscard]] bool AnswerNext();
  /// Returns no answer if the conversation was closed meanwhile.
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
  uint64_t questions_ = 0;    ///< used by Run()'s thread alone, as the next
  uint64_t handed_over_ = 0;  ///< bytes

  mutable Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  bool counted_ GUARDED_BY(mutex_) = false;  ///< whether it is counted in hung_
  std::string asking_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

/// Serves the questions of one worker for the session that watches it, which never waits for a
/// disk. The first question starts a thread. If the thread hangs in a question when the job is
/// over, it is left behind. Used by the session's thread alone.
class FileService {
 public:
  /// `channel`: the daemon's end of the files socket.
  FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);
  ~FileService() { Close(); }
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;

  /// Returns the descriptor to poll: call Continue() when it is readable. -1: there is nothing to
  /// wait for.
  [[nodiscard]] int fd() const { return fd_; }
  /// Returns an error if the worker must end for it.
  [[nodiscard]] std::optional<Error> Continue();

  /// Ends the conversation. Returns false if a question hangs: then the files are in use until it
  /// is answered.
  bool Close();

  /// Returns the error for which the worker had to end, if there was one.
  [[nodiscard]] std::optional<Error> error() const { return conversation_->error(); }
  /// Returns the name whose answer is being waited for, or an empty string.
  [[nodiscard]] std::string asking() const { return conversation_->asking(); }

 private:
  [[nodiscard]] std::optional<Error> Start();

  const std::shared_ptr<FileConversation> conversation_;
  int fd_;  ///< the channel; the error event once the thread runs
  std::thread thread_;
};

}  // namespace cccl_cache::daemon

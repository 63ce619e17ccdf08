// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/file_descriptor.h"
#include "daemon/compile/hung_reads.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// One worker's questions (packet.h) and the answers to them. Run goes on a thread of its
/// own, the rest may be called from any; both hold the conversation by a shared_ptr, so that the
/// thread can be left behind in a disk that does not answer.
class FileConversation {
 public:
  FileConversation(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);

  /// Why its user may ask no questions now, if so.
  [[nodiscard]] std::optional<Error> Refusal() const;

  /// Answers until the worker or this side has closed the channel, or there is an error.
  void Run();

  /// After this nothing more is asked of the files, and Run ends as soon as it may. False: it is
  /// waiting for the disk, and is counted as hung until that answers.
  [[nodiscard]] bool Close();

  /// Readable once there is an error. Invalid if the system has no descriptors left.
  [[nodiscard]] int error_fd() const { return error_event_.get(); }
  [[nodiscard]] int channel() const { return channel_.get(); }
  /// Why the worker must end.
  [[nodiscard]] std::optional<Error> error() const;
  /// The name whose answer is being waited for; empty: none.
  [[nodiscard]] std::string asking() const;

 private:
  /// False: there will be no more questions.
  [[nodiscard]] bool AnswerNext();
  /// No answer: closed meanwhile.
  [[nodiscard]] std::optional<Result<FileAnswer>> Ask(const FileQuestion& question);
  [[nodiscard]] Result<FileAnswer> AnswerTo(const FileQuestion& question);
  /// What is wrong with the worker that asks so much, if anything.
  [[nodiscard]] std::optional<Error> CountAgainstBounds(const FileAnswer& answer);
  /// False: the worker is gone.
  [[nodiscard]] bool Send(const FileAnswer& answer);
  void Fail(Error error);

  const FileDescriptor channel_;
  const FileDescriptor error_event_;
  const std::shared_ptr<JobFiles> files_;
  const HungReadsOf hung_;
  uint64_t questions_ = 0;    ///< of Run's thread, as the next
  uint64_t handed_over_ = 0;  ///< bytes

  mutable std::mutex mutex_;
  bool closed_ = false;   ///< guarded by mutex_, as all below
  bool counted_ = false;  ///< in hung_
  std::string asking_;
  std::optional<Error> error_;
};

/// Serves the questions of one worker for the session that watches it, which never waits for a
/// disk: a thread is started with the first question, and left behind if it hangs in it when the
/// job is over. Used by the session's thread alone.
class FileService {
 public:
  /// `channel`: the daemon's end of the files socket.
  FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung);
  ~FileService() { Close(); }
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;

  /// Call Continue when this is readable; -1: nothing is to be waited for.
  [[nodiscard]] int fd() const { return fd_; }
  /// An error: the worker must end for it.
  [[nodiscard]] std::optional<Error> Continue();

  /// Asks nothing more of the files. False: a question hangs, and the files are in use until it is
  /// answered.
  bool Close();

  /// Why the worker had to end, if for this.
  [[nodiscard]] std::optional<Error> error() const { return conversation_->error(); }
  /// The name whose answer is being waited for; empty: none.
  [[nodiscard]] std::string asking() const { return conversation_->asking(); }

 private:
  [[nodiscard]] std::optional<Error> Start();

  const std::shared_ptr<FileConversation> conversation_;
  int fd_;  ///< the channel; the thread's error event once it runs
  std::thread thread_;
};

}  // namespace cccl_cache::daemon

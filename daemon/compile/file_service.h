// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/compile/file_conversation.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

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

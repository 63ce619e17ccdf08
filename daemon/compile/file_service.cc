// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/file_service.h"

#include <sys/socket.h>

#include <system_error>
#include <utility>

namespace cccl_cache::daemon {

FileService::FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung)
    : conversation_(std::make_shared<FileConversation>(std::move(channel), std::move(files),
                                                       std::move(hung))),
      fd_(conversation_->channel()) {}

std::optional<Error> FileService::Continue() {
  if (thread_.joinable()) {
    fd_ = -1;
    return conversation_->error();
  }
  char byte;
  if (recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) return Start();
  fd_ = -1;  // the worker has ended, or closed its side
  return std::nullopt;
}

std::optional<Error> FileService::Start() {
  fd_ = -1;
  if (auto refusal = conversation_->Refusal()) return refusal;
  fd_ = conversation_->error_fd();
  if (fd_ < 0) {
    return Error{ErrorCode::kUnavailable, "the daemon has no descriptors left to open files with"};
  }
  try {
    thread_ = std::thread([conversation = conversation_] { conversation->Run(); });
  } catch (const std::system_error& error) {
    fd_ = -1;
    return Error{ErrorCode::kUnavailable,
                 std::string("the daemon can't start a thread to open files: ") + error.what()};
  }
  return std::nullopt;
}

bool FileService::Close() {
  fd_ = -1;
  const bool idle = conversation_->Close();
  if (thread_.joinable()) {
    idle ? thread_.join() : thread_.detach();
  }
  return idle;
}

}  // namespace cccl_cache::daemon

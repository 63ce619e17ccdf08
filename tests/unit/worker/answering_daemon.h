// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/packet.h"

namespace cccl_cache::daemon {

/// The daemon's end of a files socket, on a thread. Answers from a table; all other names are
/// absent. Records announced look-ups in the toolchain. Contents must fit into one packet.
class AnsweringDaemon {
 public:
  struct Answer {
    FileKind kind = FileKind::kAbsent;
    uint64_t identity = 0;
    std::string contents = {};
  };

  /// `when_asked`: called before each answer, on the thread; may be empty.
  explicit AnsweringDaemon(std::map<std::string, Answer> answers,
                           std::function<void()> when_asked = {})
      : answers_(std::move(answers)), when_asked_(std::move(when_asked)) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    daemon_ = FileDescriptor(ends[0]);
    worker_ = FileDescriptor(ends[1]);
    thread_ = std::thread([this] { Run(); });
  }
  ~AnsweringDaemon() {
    shutdown(worker_.get(), SHUT_RDWR);
    thread_.join();
  }
  AnsweringDaemon(const AnsweringDaemon&) = delete;
  AnsweringDaemon& operator=(const AnsweringDaemon&) = delete;

  [[nodiscard]] int socket() const { return worker_.get(); }
  /// Returns the requested names.
  [[nodiscard]] std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  /// Returns the names of announced look-ups in the toolchain.
  [[nodiscard]] std::vector<std::string> announced() const {
    const std::lock_guard lock(mutex_);
    return announced_;
  }

 private:
  Answer AnswerTo(std::string question) {
    const bool announces = question.starts_with("//");
    if (announces) question.erase(0, 1);
    {
      const std::lock_guard lock(mutex_);
      (announces ? announced_ : asked_).push_back(question);
    }
    if (announces) return {FileKind::kDirectory, 1};
    if (when_asked_) when_asked_();
    const auto found = answers_.find(question);
    return found == answers_.end() ? Answer{} : found->second;
  }

  void Run() {
    char name[PATH_MAX];
    for (ssize_t size; (size = recv(daemon_.get(), name, sizeof(name), 0)) > 0;) {
      const Answer answer = AnswerTo({name, static_cast<size_t>(size)});
      const std::string header =
          EncodeFileAnswerHeader({answer.kind, answer.identity, answer.contents.size()});
      if (!SendPacket(daemon_.get(), header + answer.contents)) return;
    }
  }

  const std::map<std::string, Answer> answers_;
  const std::function<void()> when_asked_;
  FileDescriptor daemon_;
  FileDescriptor worker_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;  ///< guarded by mutex_, like the next member
  std::vector<std::string> announced_;
  std::thread thread_;
};

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/file_service.h"

#include <fmt/format.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

#include "daemon/compile/protocol/packet.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

bool SendAll(int socket, std::string_view first, std::string_view second) {
  iovec parts[] = {{const_cast<char*>(first.data()), first.size()},
                   {const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace

/// Answers the questions of one worker. Shared by the FileService and its thread.
class FileService::Conversation {
 public:
  Conversation(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung)
      : channel_(std::move(channel)),
        error_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        files_(std::move(files)),
        hung_(std::move(hung)) {}

  /// Runs on the thread. Answers questions until the worker or the daemon closes the socket, or an
  /// error occurs.
  void Run();
  /// Records an error and closes the socket. The session then kills the worker.
  void Fail(Error error);
  /// Closes the socket. Returns false if a question is being answered, which may take for ever.
  [[nodiscard]] bool Close();

  [[nodiscard]] int error_fd() const { return error_event_.get(); }
  [[nodiscard]] std::optional<Error> error() const;
  [[nodiscard]] std::string asking() const;

 private:
  /// Answers the next question. Returns false if no further question must be answered.
  [[nodiscard]] bool AnswerNext();
  /// Returns an error if too many reads of the user hang. Checked only at the first question.
  [[nodiscard]] std::optional<Error> Refusal() const;
  /// Gets the answer to a question. Returns none if Close() was called before the answer came.
  [[nodiscard]] std::optional<Result<FileAnswer>> Ask(const FileQuestion& question);
  [[nodiscard]] Result<FileAnswer> AnswerTo(const FileQuestion& question);
  /// Counts a question and the bytes of its answer. Returns an error if the worker has exceeded
  /// kMaxFileQuestions or kMaxHandedOverBytes.
  [[nodiscard]] std::optional<Error> CountAgainstBounds(const FileAnswer& answer);
  /// Sends the answer to the worker. Returns false if the worker has closed the socket.
  [[nodiscard]] bool Send(const FileAnswer& answer);

  const FileDescriptor channel_;
  const FileDescriptor error_event_;
  const std::shared_ptr<JobFiles> files_;
  const HungReadsOf hung_;
  uint64_t questions_ = 0;    ///< number of questions; used by the thread only
  uint64_t handed_over_ = 0;  ///< bytes of contents in all answers; used by the thread only

  mutable Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  bool counted_ GUARDED_BY(mutex_) = false;  ///< the current question was added to hung_
  std::string asking_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

std::optional<Error> FileService::Conversation::Refusal() const {
  if (questions_ > 0 || !hung_.table->Full(hung_.account)) return std::nullopt;
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("too many reads of header files hang ({} of one user, or {} of all): a file "
                  "system does not answer, and until it does no build of {} may ask for files",
                  HungReads::kMaxPerUid, HungReads::kMax, hung_.account.Name())};
}

void FileService::Conversation::Run() {
  NameThread("questions");
  while (AnswerNext()) {
  }
}

bool FileService::Conversation::AnswerNext() {
  std::array<char, PATH_MAX> packet;
  ssize_t received;
  do {
    received = recv(channel_.get(), packet.data(), packet.size(), MSG_TRUNC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) return false;
  const size_t size = std::min(static_cast<size_t>(received), packet.size());
  const Result<FileQuestion> question = DecodeFileQuestion({packet.data(), size});
  if (!question) {
    Fail(question.error());
    return false;
  }
  if (std::optional<Error> refusal = Refusal()) {
    Fail(*std::move(refusal));
    return false;
  }
  const std::optional<Result<FileAnswer>> answer = Ask(*question);
  if (!answer) return false;
  if (!*answer) {
    Fail(answer->error());
    return false;
  }
  if (std::optional<Error> over = CountAgainstBounds(**answer)) {
    Fail(*std::move(over));
    return false;
  }
  return Send(**answer);
}

std::optional<Result<FileAnswer>> FileService::Conversation::Ask(const FileQuestion& question) {
  {
    const MutexLock lock(mutex_);
    if (closed_) return std::nullopt;
    asking_ = question.name;
  }
  Result<FileAnswer> answer = AnswerTo(question);
  const MutexLock lock(mutex_);
  asking_.clear();
  if (counted_) hung_.table->End(hung_.account);
  if (closed_) return std::nullopt;
  return answer;
}

Result<FileAnswer> FileService::Conversation::AnswerTo(const FileQuestion& question) {
  if (!question.announces_look) return files_->Ask(question.name);
  if (const Status noted = files_->LookInToolchain(question.name); !noted) return noted.error();
  return FileAnswer{FileKind::kDirectory, 1, nullptr};
}

std::optional<Error> FileService::Conversation::CountAgainstBounds(const FileAnswer& answer) {
  if (++questions_ > kMaxFileQuestions) {
    return Error{ErrorCode::kWorkerCrashed,
                 fmt::format("the compiler asked for more than {} names", kMaxFileQuestions)};
  }
  if (answer.contents != nullptr) handed_over_ += answer.contents->size();
  if (handed_over_ <= kMaxHandedOverBytes) return std::nullopt;
  return Error{ErrorCode::kWorkerCrashed,
               fmt::format("the compiler asked for more than {} MiB of files outside the toolchain",
                           kMaxHandedOverBytes >> 20)};
}

bool FileService::Conversation::Send(const FileAnswer& answer) {
  std::string_view left;
  if (answer.kind == FileKind::kFile) {
    assert(answer.contents != nullptr);
    left = *answer.contents;
  }
  const std::string header = EncodeFileAnswerHeader(
      {.kind = answer.kind, .identity = answer.identity, .size = left.size()});
  size_t size = BytesInFirstPacket(left.size());
  if (!SendAll(channel_.get(), header, left.substr(0, size))) return false;
  for (left.remove_prefix(size); !left.empty(); left.remove_prefix(size)) {
    size = BytesInNextPacket(left.size());
    if (!SendAll(channel_.get(), left.substr(0, size), {})) return false;
  }
  return true;
}

bool FileService::Conversation::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  shutdown(channel_.get(), SHUT_RDWR);
  if (asking_.empty()) return true;
  if (!std::exchange(counted_, true)) hung_.table->Begin(hung_.account);
  return false;
}

void FileService::Conversation::Fail(Error error) {
  const MutexLock lock(mutex_);
  error_ = std::move(error);
  shutdown(channel_.get(), SHUT_RDWR);
  eventfd_write(error_event_.get(), 1);
}

std::optional<Error> FileService::Conversation::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

std::string FileService::Conversation::asking() const {
  const MutexLock lock(mutex_);
  return asking_;
}

FileService::FileService(FileDescriptor channel, std::shared_ptr<JobFiles> files, HungReadsOf hung)
    : conversation_(
          std::make_shared<Conversation>(std::move(channel), std::move(files), std::move(hung))) {
  if (error_fd() < 0) {
    FailToStart("the daemon has no descriptors left to open files with");
    return;
  }
  try {
    thread_ = std::thread([conversation = conversation_] { conversation->Run(); });
  } catch (const std::system_error& error) {
    FailToStart(std::string("the daemon can't start a thread to open files: ") + error.what());
  }
}

void FileService::FailToStart(std::string why) {
  failure_to_start_ = Error{ErrorCode::kUnavailable, std::move(why)};
  Close();
}

int FileService::error_fd() const { return conversation_->error_fd(); }

std::optional<Error> FileService::error() const { return conversation_->error(); }

std::string FileService::asking() const { return conversation_->asking(); }

bool FileService::Close() {
  const bool idle = conversation_->Close();
  if (thread_.joinable()) {
    idle ? thread_.join() : thread_.detach();
  }
  return idle;
}

void HungReads::Begin(Account account) {
  const MutexLock lock(mutex_);
  ++of_[account];
  count_.Add(account, 1);
}

void HungReads::End(Account account) {
  const MutexLock lock(mutex_);
  const auto user = of_.find(account);
  if (--user->second == 0) of_.erase(user);
  count_.Remove(account, 1);
}

bool HungReads::Full(Account account) const {
  const MutexLock lock(mutex_);
  const auto user = of_.find(account);
  const size_t mine = user == of_.end() ? 0 : user->second;
  return mine >= Allowance{kMaxPerUid, kMax}.Most(account, mine, count_);
}

size_t HungReads::count() const {
  const MutexLock lock(mutex_);
  return count_.in_all;
}

}  // namespace cccl_cache::daemon

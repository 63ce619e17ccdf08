// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/model/requester_files.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A question to a caller (the client of a call) about one of its files.
struct CallerQuestion {
  std::string path;       ///< absolute, as the caller spells it
  bool contents = false;  ///< ask for the contents, not only for the digest
};

/// The caller's answer.
struct CallerAnswer {
  FileKind kind = FileKind::kAbsent;
  std::pair<uint64_t, uint64_t> inode{0, 0};
  uint64_t size = 0;  ///< size of a file in bytes
  /// The digest of a file's contents. None if the contents follow the answer.
  std::optional<Digest> digest = std::nullopt;
  /// The reason why the caller does not answer. Empty if it does.
  std::string refusal = {};
};

/// The questions to one caller about its files, and the answers in the same order. Threads of
/// builds ask and wait for the answers. The thread of the call sends the questions, and does not
/// wait. Thread-safe. Owned by shared_ptr, because a thread may still wait after the end of the
/// call.
class FileExchange final : public CallerFiles, public std::enable_shared_from_this<FileExchange> {
 public:
  struct Options {
    uid_t uid = 0;
    std::optional<Account> counted_as = std::nullopt;  ///< as in Peer
    std::chrono::milliseconds patience{30'000};        ///< maximum time without a message from the
                                                       ///< caller
  };

  /// `asked` is called without a lock when Take() has new questions. The objects that it uses must
  /// outlive the exchange.
  FileExchange(const Options& options, std::shared_ptr<SentContents> sent,
               std::function<void()> asked)
      : options_(options), sent_(std::move(sent)), asked_(std::move(asked)) {}

  std::unique_ptr<RequesterFiles> Open(RootDirectories directories) override;
  [[nodiscard]] bool failed() const override;

  // The next functions are for the thread of the call, which sends questions and receives answers.

  /// Returns the next questions to send, as many as fit in one message. Returns an empty list if
  /// there are none.
  [[nodiscard]] std::vector<CallerQuestion> Take();
  /// Returns whether the caller still has to answer questions that Take() has returned.
  [[nodiscard]] bool awaits_answers() const;
  /// Returns the number of bytes that were received of incomplete contents.
  [[nodiscard]] uint64_t incomplete_bytes() const;
  /// Stores the caller's answer to the oldest question. Returns kInvalidRequest if no question is
  /// open or the answer is malformed, and kDenied if the file is too large.
  [[nodiscard]] Status Answer(CallerAnswer answer);
  /// Stores the next bytes of the contents that follow the last answer.
  [[nodiscard]] Status Append(std::string_view contents);
  /// Ends the exchange. Each waiting thread gets the error `why`, and later answers are ignored.
  /// Further calls have no effect.
  void End(Error why);

 private:
  class Files;
  using Contents = RequesterFiles::Contents;
  using Clock = std::chrono::steady_clock;

  /// A question that the caller has not answered yet. Shared by the waiting thread and the
  /// exchange. Guarded by FileExchange::mutex_.
  struct Question {
    CallerQuestion asked;
    bool keep_bytes = false;  ///< whether the waiting thread needs the contents
    std::optional<Result<Contents>> answer = std::nullopt;
  };
  using QuestionPtr = std::shared_ptr<Question>;
  struct Incoming {
    CallerAnswer answer;
    std::string bytes;
  };

  void Ask(const std::vector<QuestionPtr>& questions);
  [[nodiscard]] Result<Contents> Wait(const QuestionPtr& question);
  [[nodiscard]] Status CheckAnswer(const CallerAnswer& answer) const REQUIRES(mutex_);
  void Settle(Result<Contents> answer) REQUIRES(mutex_);
  void SettleContents() REQUIRES(mutex_);
  void EndLocked(Error why) REQUIRES(mutex_);

  const Options options_;
  const std::shared_ptr<SentContents> sent_;
  const std::function<void()> asked_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<QuestionPtr> waiting_ GUARDED_BY(mutex_);   // not taken yet
  std::deque<QuestionPtr> taken_ GUARDED_BY(mutex_);     // sent to the caller, oldest first
  std::optional<Incoming> incoming_ GUARDED_BY(mutex_);  // incomplete answer to the oldest question
  // Time of the caller's last message or, if later, of the first question without an answer.
  Clock::time_point heard_ GUARDED_BY(mutex_);
  std::optional<Error> ended_ GUARDED_BY(mutex_);
  bool failed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cccl_cache::daemon

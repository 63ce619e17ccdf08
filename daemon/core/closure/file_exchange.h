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

/// A question to a caller about one of its files.
struct CallerQuestion {
  std::string path;       ///< absolute, as the caller spells it
  bool contents = false;  ///< ask for the contents, not only for the digest
};

/// The caller's answer.
struct CallerAnswer {
  FileKind kind = FileKind::kAbsent;
  std::pair<uint64_t, uint64_t> inode{0, 0};
  uint64_t size = 0;  ///< bytes; of a file
  /// Set for a file, unless its contents follow.
  std::optional<Digest> digest = std::nullopt;
  /// The reason of a refusal; empty: not refused.
  std::string refusal = {};
};

/// Questions to one caller about its files, and the answers, in order. A thread that asks waits;
/// the thread that sends the questions to the caller does not. Thread-safe. Owned by shared_ptr,
/// because a thread may still wait when the call has ended.
class FileExchange final : public CallerFiles, public std::enable_shared_from_this<FileExchange> {
 public:
  struct Options {
    uid_t uid = 0;
    std::optional<Account> counted_as = std::nullopt;  ///< as in Peer
    std::chrono::milliseconds patience{30'000};        ///< maximum time without a message from the
                                                       ///< caller
  };

  /// `asked` is called, without a lock, when Take has questions. It must be callable as long as the
  /// exchange lives.
  FileExchange(const Options& options, std::shared_ptr<SentContents> sent,
               std::function<void()> asked)
      : options_(options), sent_(std::move(sent)), asked_(std::move(asked)) {}

  std::unique_ptr<RequesterFiles> Open(RootDirectories directories) override;
  [[nodiscard]] bool failed() const override;

  // For the thread that sends questions and receives answers:

  /// Returns the next questions, at most as many as fit one message; empty: there are none.
  [[nodiscard]] std::vector<CallerQuestion> Take();
  /// Returns whether taken questions are unanswered.
  [[nodiscard]] bool awaits_answers() const;
  /// Returns the bytes received of contents that are not complete yet.
  [[nodiscard]] uint64_t incomplete_bytes() const;
  /// Stores the answer to the oldest question. kInvalidRequest: no question is unanswered, or the
  /// answer is malformed.
  [[nodiscard]] Status Answer(CallerAnswer answer);
  /// Stores the next bytes of the contents that the last answer announced.
  [[nodiscard]] Status Append(std::string_view contents);
  /// Ends the exchange: each waiter gets `why`, and no more answers are accepted. Later calls have
  /// no effect.
  void End(Error why);

 private:
  class Files;
  using Contents = RequesterFiles::Contents;
  using Clock = std::chrono::steady_clock;

  /// An unanswered question, shared by its waiter and the exchange. Guarded by the exchange's
  /// mutex.
  struct Question {
    CallerQuestion asked;
    bool keep_bytes = false;  ///< false: the waiter needs only the digest
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
  std::deque<QuestionPtr> taken_ GUARDED_BY(mutex_);     // oldest first
  std::optional<Incoming> incoming_ GUARDED_BY(mutex_);  // contents of the oldest taken question
  // Time of the last message from the caller, or of the first question.
  Clock::time_point heard_ GUARDED_BY(mutex_);
  std::optional<Error> ended_ GUARDED_BY(mutex_);
  bool failed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cccl_cache::daemon

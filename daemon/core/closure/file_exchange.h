// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/closure/sent_files.h"
#include "daemon/core/model/requester_files.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What a caller is asked about one of its files.
struct CallerQuestion {
  std::string path;       ///< absolute, as the caller spells it
  bool contents = false;  ///< their digest will not do
};

/// What it says.
struct CallerAnswer {
  FileKind kind = FileKind::kAbsent;
  std::pair<uint64_t, uint64_t> inode{0, 0};
  uint64_t size = 0;  ///< of a file
  /// Of a file: none, if its contents come.
  std::optional<Digest> digest = std::nullopt;
  /// Why it is not told; empty: it is.
  std::string refusal = {};
};

/// Questions to one caller about its files, and the answers, one after the other. Whoever asks
/// waits; whoever carries the questions to the caller never does. Thread-safe. Held by shared_ptr,
/// for a thread may still wait when the call is over.
class FileExchange final : public CallerFiles, public std::enable_shared_from_this<FileExchange> {
 public:
  struct Options {
    uid_t uid = 0;
    std::optional<Account> counted_as = std::nullopt;  ///< as in Peer
    std::chrono::milliseconds patience{30'000};        ///< since the caller last said something
  };

  /// `asked` is called, without a lock, when there are questions to be taken; it must be callable
  /// as long as the exchange lives.
  FileExchange(const Options& options, std::shared_ptr<SentContents> sent,
               std::function<void()> asked)
      : options_(options), sent_(std::move(sent)), asked_(std::move(asked)) {}

  std::unique_ptr<RequesterFiles> Open(RootDirectories directories) override;
  [[nodiscard]] bool failed() const override;

  // For who carries.

  /// The next questions, as many as make a message; none: nothing is to be asked now.
  [[nodiscard]] std::vector<CallerQuestion> Take();
  /// Questions were taken that are not answered yet.
  [[nodiscard]] bool awaits_answers() const;
  /// Bytes of contents that are not complete yet.
  [[nodiscard]] uint64_t incomplete_bytes() const;
  /// The answer to the oldest question. kInvalidRequest: none was asked, or it can't be one.
  [[nodiscard]] Status Answer(CallerAnswer answer);
  /// The next bytes of the contents that the last answer announced.
  [[nodiscard]] Status Append(std::string_view contents);
  /// There will be no more answers: whoever waits is told why. The first reason counts.
  void End(Error why);

 private:
  class Files;
  using Contents = RequesterFiles::Contents;
  using Clock = std::chrono::steady_clock;

  /// A question on its way; shared by who asks and the exchange.
  struct Question {
    CallerQuestion asked;
    bool keep_bytes = false;  ///< otherwise whoever asks wants to know their digest alone
    std::optional<Result<Contents>> answer = std::nullopt;
  };
  using QuestionPtr = std::shared_ptr<Question>;
  struct Incoming {
    CallerAnswer answer;
    std::string bytes;
  };

  void Ask(const std::vector<QuestionPtr>& questions);
  [[nodiscard]] Result<Contents> Wait(const QuestionPtr& question);
  // These require mutex_ held.
  [[nodiscard]] Status CheckAnswer(const CallerAnswer& answer) const;
  void Settle(Result<Contents> answer);
  void SettleContents();
  void EndLocked(Error why);

  const Options options_;
  const std::shared_ptr<SentContents> sent_;
  const std::function<void()> asked_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<QuestionPtr> waiting_;   // guarded by mutex_, as all below: not taken yet
  std::deque<QuestionPtr> taken_;     // oldest first
  std::optional<Incoming> incoming_;  // the contents of the oldest one taken
  Clock::time_point heard_;           // when the caller last said something, or was first asked
  std::optional<Error> ended_;
  bool failed_ = false;
};

}  // namespace cccl_cache::daemon

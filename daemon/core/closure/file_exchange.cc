// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/file_exchange.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <utility>

namespace cccl_cache::daemon {
namespace {

// Limit in bytes of one file of a caller, as for files that the daemon opens itself.
constexpr uint64_t kMaxFileBytes = 64u << 20;
constexpr size_t kMaxRefusalBytes = 512;
// Limits of one message to the caller: number of questions, and total bytes of their paths.
constexpr size_t kMaxQuestions = 1024;
constexpr size_t kMaxPathBytes = 256u << 10;

Error Wrong(std::string_view what) {
  return Error{ErrorCode::kInvalidRequest, fmt::format("the answers about files: {}", what)};
}

}  // namespace

/// The caller's files under the roots of one build.
class FileExchange::Files final : public RequesterFiles {
 public:
  Files(std::shared_ptr<FileExchange> exchange, RootDirectories directories)
      : exchange_(std::move(exchange)), directories_(std::move(directories)) {}

  void Expect(std::span<const ExpectedFile> expected) override {
    std::vector<const FileName*> unknown;
    for (const ExpectedFile& file : expected) {
      if (!looked_.contains(*file.name)) unknown.push_back(file.name);
    }
    Gather(unknown, false);
    // If the caller claims the expected digest, it must prove this by sending the contents. Another
    // digest needs no proof: the closure then does not hold for this caller.
    std::vector<const FileName*> unproven;
    for (const ExpectedFile& file : expected) {
      if (file.digest != nullptr && IsClaimed(*file.name, *file.digest)) {
        unproven.push_back(file.name);
      }
    }
    Gather(unproven, true);
  }

  Result<SeenFile> Look(const FileName& name) override {
    if (!looked_.contains(name)) Gather({&name}, false);
    if (!looked_.at(name).proven) Gather({&name}, true);
    return looked_.at(name).seen;
  }

  Result<SeenFile> Compare(const FileName& name, const Digest& digest) override {
    const ExpectedFile expected{&name, &digest};
    Expect({&expected, 1});
    return looked_.at(name).seen;
  }

  Result<Contents> Read(const FileName& name) override {
    if (directories_.PathOf(name).empty()) return Contents{};
    const uid_t uid = exchange_->options_.uid;
    Result<Contents> answer = Fetch(name, !exchange_->sent_->SentAny(uid));
    if (!answer || answer->seen.kind != FileKind::kFile || answer->bytes != nullptr) return answer;
    answer->bytes = exchange_->sent_->Find(uid, answer->seen.digest);
    return answer->bytes != nullptr ? std::move(answer) : Fetch(name, true);
  }

 private:
  struct Looked {
    Result<SeenFile> seen;
    bool proven = true;  ///< false if the caller has sent only the digest, never the contents
  };

  QuestionPtr MakeQuestion(const FileName& name, bool contents) const {
    auto question = std::make_shared<Question>();
    question->asked = {directories_.PathOf(name), contents};
    // The name has no path at the caller, so it is absent.
    if (question->asked.path.empty()) question->answer = Contents{};
    return question;
  }

  Result<Contents> Fetch(const FileName& name, bool contents) {
    const QuestionPtr question = MakeQuestion(name, contents);
    question->keep_bytes = true;
    exchange_->Ask({question});
    return exchange_->Wait(question);
  }

  [[nodiscard]] bool IsClaimed(const FileName& name, const Digest& digest) const {
    const Looked& looked = looked_.at(name);
    return !looked.proven && looked.seen->digest == digest;
  }

  /// Asks for all of these names together, and waits for the answers.
  void Gather(const std::vector<const FileName*>& names, bool contents) {
    std::vector<QuestionPtr> all;
    std::vector<QuestionPtr> open;
    for (const FileName* name : names) {
      all.push_back(MakeQuestion(*name, contents));
      if (!all.back()->answer) open.push_back(all.back());
    }
    exchange_->Ask(open);
    for (size_t i = 0; i < names.size(); ++i) {
      const Result<Contents> answer = exchange_->Wait(all[i]);
      if (!answer) {
        looked_.insert_or_assign(*names[i], Looked{answer.error()});
        continue;
      }
      const bool claimed = !contents && answer->seen.kind == FileKind::kFile;
      const bool proven =
          !claimed || exchange_->sent_->WasSent(exchange_->options_.uid, answer->seen.digest);
      looked_.insert_or_assign(*names[i], Looked{answer->seen, proven});
    }
  }

  const std::shared_ptr<FileExchange> exchange_;
  const RootDirectories directories_;
  std::map<FileName, Looked> looked_;
};

std::unique_ptr<RequesterFiles> FileExchange::Open(RootDirectories directories) {
  return std::make_unique<Files>(shared_from_this(), std::move(directories));
}

void FileExchange::Ask(const std::vector<QuestionPtr>& questions) {
  if (questions.empty()) return;
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    if (waiting_.empty() && taken_.empty()) heard_ = Clock::now();
    waiting_.insert(waiting_.end(), questions.begin(), questions.end());
  }
  asked_();
}

Result<FileExchange::Contents> FileExchange::Wait(const QuestionPtr& question) {
  const MutexLock lock(mutex_);
  const auto settled = [&]() REQUIRES(mutex_) { return question->answer || ended_; };
  while (!changed_.WaitUntil(mutex_, heard_ + options_.patience, settled)) {
    if (heard_ + options_.patience > Clock::now()) continue;
    EndLocked(Error{
        ErrorCode::kTimedOut,
        fmt::format("the client said nothing for {} s when it was asked about {}: is it stopped, "
                    "or does a file system hang?",
                    std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count(),
                    question->asked.path)});
  }
  Result<Contents> answer = question->answer ? *std::move(question->answer) : *ended_;
  if (!answer) failed_ = true;
  return answer;
}

std::vector<CallerQuestion> FileExchange::Take() {
  const MutexLock lock(mutex_);
  std::vector<CallerQuestion> questions;
  size_t bytes = 0;
  while (!waiting_.empty() && questions.size() < kMaxQuestions && bytes < kMaxPathBytes) {
    questions.push_back(waiting_.front()->asked);
    bytes += questions.back().path.size();
    taken_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return questions;
}

Status FileExchange::Answer(CallerAnswer answer) {
  const MutexLock lock(mutex_);
  if (ended_) return Ok{};
  if (const Status checked = CheckAnswer(answer); !checked) return checked;
  heard_ = Clock::now();
  const CallerQuestion& asked = taken_.front()->asked;
  if (!answer.refusal.empty()) {
    Settle(Error{ErrorCode::kDenied, fmt::format("can't read {}: {}", asked.path, answer.refusal)});
  } else if (answer.kind != FileKind::kFile || answer.digest) {
    Settle(Contents{{answer.kind, answer.digest.value_or(Digest{}), answer.inode}, nullptr});
  } else {
    incoming_.emplace(Incoming{std::move(answer), {}});
    SettleContents();
  }
  return Ok{};
}

Status FileExchange::CheckAnswer(const CallerAnswer& answer) const {
  if (incoming_) return Wrong("contents are missing of the one before");
  if (taken_.empty()) return Wrong("there is one more than questions");
  if (answer.refusal.size() > kMaxRefusalBytes) return Wrong("a reason is too long");
  if (answer.size > kMaxFileBytes) {
    return Error{
        ErrorCode::kDenied,
        fmt::format("{} is larger than {} MiB, the most that is read of one file: split it",
                    taken_.front()->asked.path, kMaxFileBytes >> 20)};
  }
  const bool claims = answer.kind == FileKind::kFile && answer.digest;
  if (claims && taken_.front()->asked.contents) return Wrong("a digest where contents were asked");
  return Ok{};
}

Status FileExchange::Append(std::string_view contents) {
  const MutexLock lock(mutex_);
  if (ended_) return Ok{};
  if (!incoming_ || contents.empty() ||
      contents.size() > incoming_->answer.size - incoming_->bytes.size()) {
    return Wrong("there are more contents than were announced");
  }
  heard_ = Clock::now();
  incoming_->bytes.append(contents);
  SettleContents();
  return Ok{};
}

void FileExchange::SettleContents() {
  if (incoming_->bytes.size() < incoming_->answer.size) return;
  auto bytes = std::make_shared<const std::string>(std::move(incoming_->bytes));
  Contents contents{{FileKind::kFile, Sha256(*bytes), incoming_->answer.inode}, bytes};
  incoming_.reset();
  sent_->Keep(options_.uid, options_.counted_as.value_or(Account(options_.uid)),
              contents.seen.digest, std::move(bytes));
  if (!taken_.front()->keep_bytes) contents.bytes.reset();
  Settle(std::move(contents));
}

void FileExchange::Settle(Result<Contents> answer) {
  taken_.front()->answer = std::move(answer);
  taken_.pop_front();
  changed_.NotifyAll();
}

bool FileExchange::awaits_answers() const {
  const MutexLock lock(mutex_);
  return !taken_.empty() && !ended_;
}

uint64_t FileExchange::incomplete_bytes() const {
  const MutexLock lock(mutex_);
  return incoming_ ? incoming_->bytes.size() : 0;
}

bool FileExchange::failed() const {
  const MutexLock lock(mutex_);
  return failed_;
}

void FileExchange::End(Error why) {
  const MutexLock lock(mutex_);
  EndLocked(std::move(why));
}

void FileExchange::EndLocked(Error why) {
  if (ended_) return;
  ended_ = std::move(why);
  waiting_.clear();
  taken_.clear();
  incoming_.reset();
  changed_.NotifyAll();
}

}  // namespace cccl_cache::daemon

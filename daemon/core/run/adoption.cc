// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/adoption.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace cccl_cache::daemon {
namespace {

/// Far more than thousands of files take whose digests are known. Parsing takes no longer.
constexpr std::chrono::milliseconds kPatience{1'000};

/// Where a look's result is left for whoever may still wait for it. Thread-safe.
class Finding {
 public:
  void Put(Result<bool> result) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    changed_.notify_all();
  }
  std::optional<Result<bool>> Wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kPatience, [this] { return result_.has_value(); });
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Result<bool>> result_;  // guarded by mutex_
};

}  // namespace

std::optional<Result<bool>> AdoptSoon(FileChecks& checks, Account account,
                                      const std::shared_ptr<ClosureRecorder>& recorder,
                                      const ParsedPreamblePtr& parsed,
                                      const std::stop_token& stop) {
  // The toolchain's headers are compared in memory: no file system can hang here.
  if (!parsed->record.asked) return recorder->Adopt(parsed->record);
  const auto finding = std::make_shared<Finding>();
  const Status added = checks.Add(
      account,
      {.look = [recorder, parsed, finding] { finding->Put(recorder->Adopt(parsed->record)); },
       .then = [] {},
       .late = [] {}});
  if (!added) return std::nullopt;
  return finding->Wait(stop);
}

}  // namespace cccl_cache::daemon

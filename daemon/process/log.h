// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/mutex.h"
#include "base/token_bucket.h"
#include "daemon/configuration/configuration.h"
#include "daemon/core/coordinator/coordinator.h"

namespace cccl_cache::daemon {

/// One named value of a log line.
struct LogField {
  std::string_view name;
  std::variant<std::string_view, int64_t> value;
};

/// Writes one line for each event to standard error. Thread-safe. A thread of the log writes the
/// lines, and the oldest are dropped when the reader does not keep up: no build waits for a log.
class Log {
 public:
  /// `journal`: the socket of systemd's journal, if that reads standard error; else empty. Lines
  /// for people go there with their fields, each of which `journalctl` can select by: CCCL_EVENT,
  /// CCCL_UID and so on. Lines in JSON, and those that the socket does not take, go to standard
  /// error after their priority (sd-daemon(3)).
  Log(LogLevel level, LogFormat format, const std::string& journal = {});
  /// Writes the lines that wait.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void SetLevel(LogLevel level);
  [[nodiscard]] bool Takes(LogLevel level) const;

  /// `event` is one word for machines, `message` one sentence for people; the fields come after it.
  void Write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields = {});

 private:
  class Sink;
  using Line = std::string (*)(std::string_view event, std::string_view message,
                               std::initializer_list<LogField> fields);
  const std::unique_ptr<Sink> sink_;
  const Line line_;
};

/// Returns the journal's socket if systemd connected this descriptor to its journal, else nothing.
/// `journal_stream`: value of the variable JOURNAL_STREAM (systemd.exec(5)).
[[nodiscard]] std::string JournalOf(int descriptor, std::string_view journal_stream);

/// Returns the part of a text line that follows the time and the level.
[[nodiscard]] std::string TextLine(std::string_view event, std::string_view message,
                                   std::initializer_list<LogField> fields);
/// Returns the same as members of a JSON object, each after a comma.
[[nodiscard]] std::string JsonMembers(std::string_view event, std::string_view message,
                                      std::initializer_list<LogField> fields);

/// Returns the same as an entry for the journal's socket, without its priority
/// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL). The first field is MESSAGE.
[[nodiscard]] std::string JournalEntry(std::string_view event, std::string_view message,
                                       std::initializer_list<LogField> fields);

/// Writes one line for one build: the requester, the outcome, the time it took. The level is debug,
/// or info if the build took over 30 s. The line holds no text of the client's.
void LogBuild(Log& log, const BuildRecord& record);

/// Writes warnings of a kind that a client can cause any number of times: ten at once and ten a
/// minute. The next one that is written says how many were left out. Thread-safe; the log must
/// outlive the object.
class LimitedLog {
 public:
  using Clock = TokenBucket::Clock;

  LimitedLog(Log& log, std::string event, std::function<Clock::time_point()> now = Clock::now,
             LogLevel level = LogLevel::kWarning);

  void Write(std::string_view message);

 private:
  Log& log_;
  const std::string event_;
  const std::function<Clock::time_point()> now_;
  const LogLevel level_;
  Mutex mutex_;
  TokenBucket allowed_ GUARDED_BY(mutex_);
  int64_t left_out_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cccl_cache::daemon

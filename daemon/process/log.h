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

/// Writes one line for each event to standard error or to systemd's journal. A thread of the log
/// writes the lines. If too many lines wait, the oldest are dropped, so that no build waits for the
/// log. Thread-safe.
class Log {
 public:
  /// `journal`: the path of the journal's socket if standard error leads to systemd's journal, else
  /// "". Lines in text format are sent to that socket with their fields as CCCL_EVENT, CCCL_UID and
  /// so on, so that `journalctl` can select lines by field. Lines in JSON, and lines that the
  /// socket does not accept, are written to standard error, with their priority in front
  /// (sd-daemon(3)).
  Log(LogLevel level, LogFormat format, const std::string& journal = {});
  /// Writes the waiting lines.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void SetLevel(LogLevel level);
  [[nodiscard]] bool Takes(LogLevel level) const;

  /// `event` is one word for programs, and `message` is one sentence for people. The line has the
  /// fields after the message.
  void Write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields = {});

 private:
  class Sink;
  using Line = std::string (*)(std::string_view event, std::string_view message,
                               std::initializer_list<LogField> fields);
  const std::unique_ptr<Sink> sink_;
  const Line line_;
};

/// Returns the path of the journal's socket if systemd has connected this descriptor to the
/// journal, else "". `journal_stream` is the value of the variable JOURNAL_STREAM
/// (systemd.exec(5)).
[[nodiscard]] std::string JournalOf(int descriptor, std::string_view journal_stream);

/// Returns a text line without its time and level.
[[nodiscard]] std::string TextLine(std::string_view event, std::string_view message,
                                   std::initializer_list<LogField> fields);
/// Returns the event, the message and the fields as members of a JSON object. A comma is in front
/// of each member.
[[nodiscard]] std::string JsonMembers(std::string_view event, std::string_view message,
                                      std::initializer_list<LogField> fields);

/// Returns a line as an entry for the journal's socket, without its priority
/// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL). The first field is MESSAGE.
[[nodiscard]] std::string JournalEntry(std::string_view event, std::string_view message,
                                       std::initializer_list<LogField> fields);

/// Writes one line for one build: the requester, the outcome, the duration. The level is debug, or
/// info if the build took over 30 s. The line holds no text of the client.
void LogBuild(Log& log, const BuildRecord& record);

/// Writes warnings that clients can cause without limit. Writes at most ten at once and ten a
/// minute, and drops the rest. The next written warning says how many were dropped. Thread-safe.
/// The log must outlive the object.
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

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>

#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "base/json.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kWaitingLines = 8'192;
constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
constexpr const char* kJournalPattern = "%v";
constexpr const char* kJsonPattern = "{\"time\":\"%Y-%m-%dT%H:%M:%S.%e%z\",\"level\":\"%l\"%v}";

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::info;
}

/// The priority of a line as syslog and the journal number it.
class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& to) override {
    const std::string_view priority = message.level == spdlog::level::err    ? "<3>"
                                      : message.level == spdlog::level::warn ? "<4>"
                                      : message.level == spdlog::level::info ? "<6>"
                                                                             : "<7>";
    to.append(priority.data(), priority.data() + priority.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

void AppendTextValue(std::string& line, const LogField& field) {
  if (const auto* number = std::get_if<int64_t>(&field.value)) {
    fmt::format_to(std::back_inserter(line), "{}", *number);
    return;
  }
  const std::string_view text = std::get<std::string_view>(field.value);
  const bool plain = !text.empty() &&
                     text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-+@") ==
                         std::string_view::npos;
  if (plain) {
    line += text;
  } else {
    AppendJsonString(line, text);
  }
}

/// A build that takes this long is worth a line for the operator.
constexpr std::chrono::seconds kSlow{30};

constexpr double kLinesAtOnce = 10;
constexpr double kLinesPerSecond = 10.0 / 60;

}  // namespace

/// The spdlog part of the log: a queue, a thread, and standard error.
class Log::Sink {
 public:
  Sink(LogFormat format, bool to_journal)
      : pool_(std::make_shared<spdlog::details::thread_pool>(kWaitingLines, 1)),
        logger_(std::make_shared<spdlog::async_logger>(
            "", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool_,
            spdlog::async_overflow_policy::overrun_oldest)) {
    const bool json = format == LogFormat::kJson;
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<Priority>('*');
    formatter->set_pattern(std::string(to_journal ? "%*" : "") + (json         ? kJsonPattern
                                                                  : to_journal ? kJournalPattern
                                                                               : kTextPattern));
    logger_->set_formatter(std::move(formatter));
  }

  /// Ends the thread, which writes the waiting lines, before the objects that it writes with.
  ~Sink() { pool_.reset(); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] spdlog::async_logger& logger() const { return *logger_; }

 private:
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

Log::Log(LogLevel level, LogFormat format, bool to_journal)
    : format_(format), sink_(std::make_unique<Sink>(format, to_journal)) {
  SetLevel(level);
}

Log::~Log() = default;

void Log::SetLevel(LogLevel level) { sink_->logger().set_level(LevelOf(level)); }

bool Log::Takes(LogLevel level) const { return sink_->logger().should_log(LevelOf(level)); }

void Log::Write(LogLevel level, std::string_view event, std::string_view message,
                std::initializer_list<LogField> fields) {
  if (!Takes(level)) return;
  const std::string line = format_ == LogFormat::kJson ? JsonMembers(event, message, fields)
                                                       : TextLine(event, message, fields);
  sink_->logger().log(LevelOf(level), spdlog::string_view_t(line.data(), line.size()));
}

bool IsJournal(int descriptor, std::string_view journal_stream) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 &&
         journal_stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::string TextLine(std::string_view event, std::string_view message,
                     std::initializer_list<LogField> fields) {
  std::string line(event);
  if (!message.empty()) line += ": ";
  // One event is one line: control characters in a foreign text can't begin another.
  for (const char c : message) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  for (const LogField& field : fields) {
    line += fmt::format(" {}=", field.name);
    AppendTextValue(line, field);
  }
  return line;
}

std::string JsonMembers(std::string_view event, std::string_view message,
                        std::initializer_list<LogField> fields) {
  std::string json = ",\"event\":";
  AppendJsonString(json, event);
  if (!message.empty()) {
    json += ",\"message\":";
    AppendJsonString(json, message);
  }
  for (const LogField& field : fields) {
    json += ',';
    AppendJsonString(json, field.name);
    json += ':';
    if (const auto* number = std::get_if<int64_t>(&field.value)) {
      fmt::format_to(std::back_inserter(json), "{}", *number);
    } else {
      AppendJsonString(json, std::get<std::string_view>(field.value));
    }
  }
  return json;
}

void LogBuild(Log& log, const BuildRecord& record) {
  const LogLevel level = record.total_time >= kSlow ? LogLevel::kInfo : LogLevel::kDebug;
  if (!log.Takes(level)) return;
  if (!record.result) {
    log.Write(level, "build", "",
              {{"uid", int64_t{record.peer.uid}},
               {"pid", int64_t{record.peer.pid}},
               {"kind", NameOf(record.kind)},
               {"outcome", "error"},
               {"error", Name(record.result.error().code)},
               {"total_us", int64_t{record.total_time.count()}}});
    return;
  }
  const BuildAnswer& answer = *record.result;
  const std::string key = answer.key.Hex();
  log.Write(level, "build", "",
            {{"uid", int64_t{record.peer.uid}},
             {"pid", int64_t{record.peer.pid}},
             {"kind", NameOf(record.kind)},
             {"outcome", NameOf(answer.outcome)},
             {"tier", NameOf(answer.tier)},
             {"key", key},
             {"toolchain", answer.toolchain_version},
             {"native_code", int64_t{answer.native_code}},
             {"remembered", int64_t{answer.remembered}},
             {"queue_us", int64_t{answer.queue_time.count()}},
             {"compile_us", int64_t{answer.compile_time.count()}},
             {"total_us", int64_t{record.total_time.count()}}});
}

LimitedLog::LimitedLog(Log& log, std::string event, std::function<Clock::time_point()> now)
    : log_(log),
      event_(std::move(event)),
      now_(std::move(now)),
      allowed_(kLinesAtOnce, kLinesPerSecond, now_()) {}

void LimitedLog::Write(std::string_view message) {
  const MutexLock lock(mutex_);
  if (!allowed_.Take(now_())) {
    ++left_out_;
    return;
  }
  if (left_out_ == 0) {
    log_.Write(LogLevel::kWarning, event_, message);
  } else {
    log_.Write(LogLevel::kWarning, event_, message, {{"left_out", left_out_}});
  }
  left_out_ = 0;
}

}  // namespace cccl_cache::daemon

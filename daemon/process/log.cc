// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <iterator>
#include <string>
#include <utility>

#include "base/json.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kWaitingLines = 8'192;
constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
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

std::string_view NameOf(BuildKind kind) {
  switch (kind) {
    case BuildKind::kNvrtc:
      return "nvrtc";
    case BuildKind::kLink:
      return "link";
    case BuildKind::kNvvm:
      return "nvvm";
  }
  return "";
}

std::string_view NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHit:
      return "hit";
    case Outcome::kBuilt:
      return "built";
    case Outcome::kJoined:
      return "joined";
    case Outcome::kUncacheable:
      return "uncacheable";
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

std::string_view NameOf(TierName tier) {
  switch (tier) {
    case TierName::kNone:
      return "none";
    case TierName::kMemory:
      return "memory";
    case TierName::kDisk:
      return "disk";
    case TierName::kRemote:
      return "remote";
    case TierName::kArena:
      return "arena";
  }
  return "";
}

void LogAnswer(Log& log, const BuildRecord& record, const BuildAnswer& answer) {
  const LogLevel level = answer.outcome == Outcome::kHit ? LogLevel::kDebug : LogLevel::kInfo;
  if (!log.Takes(level)) return;
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

constexpr double kLinesAtOnce = 10;
constexpr double kLinesPerSecond = 10.0 / 60;

}  // namespace

/// The spdlog part of the log: a queue, a thread, and standard error.
class Log::Sink {
 public:
  explicit Sink(LogFormat format)
      : pool_(std::make_shared<spdlog::details::thread_pool>(kWaitingLines, 1)),
        logger_(std::make_shared<spdlog::async_logger>(
            "", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool_,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_pattern(format == LogFormat::kJson ? kJsonPattern : kTextPattern);
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

Log::Log(LogLevel level, LogFormat format)
    : format_(format), sink_(std::make_unique<Sink>(format)) {
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
  if (record.result.ok()) {
    LogAnswer(log, record, *record.result);
    return;
  }
  log.Write(LogLevel::kInfo, "build", "",
            {{"uid", int64_t{record.peer.uid}},
             {"pid", int64_t{record.peer.pid}},
             {"kind", NameOf(record.kind)},
             {"outcome", "error"},
             {"error", Name(record.result.error().code)},
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

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <chrono>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/json.h"
#include "base/text.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kWaitingLines = 8'192;
constexpr const char* kJournalPattern = "%*%v";
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

/// Returns the priority of syslog and the journal for a level.
std::string_view PriorityOf(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::err:
      return "3";
    case spdlog::level::warn:
      return "4";
    case spdlog::level::info:
      return "6";
    default:
      return "7";
  }
}

/// The syslog priority at the beginning of a line on standard error.
class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& to) override {
    fmt::format_to(std::back_inserter(to), "<{}>", PriorityOf(message.level));
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

/// Appends a field of a journal entry. The value may hold any bytes.
void AppendJournalField(std::string& entry, std::string_view name, std::string_view value) {
  static_assert(std::endian::native == std::endian::little);
  const uint64_t size = value.size();
  entry += name;
  entry += '\n';
  entry.append(reinterpret_cast<const char*>(&size), sizeof(size));
  entry += value;
  entry += '\n';
}

/// Returns the text of the field MESSAGE, with which the entry begins.
std::string_view MessageOf(std::string_view entry) {
  entry.remove_prefix(std::string_view("MESSAGE\n").size());
  uint64_t size = 0;
  std::memcpy(&size, entry.data(), sizeof(size));
  return entry.substr(sizeof(size), size);
}

/// Returns a socket that is connected to the journal's socket. None if the connection fails.
std::optional<FileDescriptor> ConnectTo(const std::string& journal) {
  sockaddr_un address{};
  if (journal.empty() || journal.size() >= sizeof(address.sun_path)) return std::nullopt;
  address.sun_family = AF_UNIX;
  journal.copy(address.sun_path, journal.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  if (socket.get() < 0 || connect(socket.get(), to, sizeof(address)) != 0) return std::nullopt;
  return socket;
}

/// Sends entries to the journal. An entry that the journal does not accept (too long for a
/// datagram, or the journal is gone) goes to standard error as a line. For one thread.
class JournalSink final : public spdlog::sinks::sink {
 public:
  explicit JournalSink(FileDescriptor socket) : socket_(std::move(socket)) {}

  void log(const spdlog::details::log_msg& message) override {
    std::string entry(message.payload.data(), message.payload.size());
    AppendJournalField(entry, "PRIORITY", PriorityOf(message.level));
    if (send(socket_.get(), entry.data(), entry.size(), MSG_NOSIGNAL) >= 0) return;
    const std::string line = fmt::format("<{}>{}\n", PriorityOf(message.level), MessageOf(entry));
    // An error is ignored: there is no other place to report it.
    (void)!write(STDERR_FILENO, line.data(), line.size());
  }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}

 private:
  const FileDescriptor socket_;
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

/// From this duration on, a build's line has the level info.
constexpr std::chrono::seconds kSlow{30};

constexpr double kLinesAtOnce = 10;
constexpr double kLinesPerSecond = 10.0 / 60;

}  // namespace

/// The spdlog part of the log: a queue, a thread, and standard error or the journal.
class Log::Sink {
 public:
  Sink(LogFormat format, const std::string& journal)
      : pool_(std::make_shared<spdlog::details::thread_pool>(kWaitingLines, 1,
                                                             [] { NameThread("log"); })) {
    const bool json = format == LogFormat::kJson;
    auto socket = json ? std::nullopt : ConnectTo(journal);
    if (socket) {
      logger_ = LoggerTo(std::make_shared<JournalSink>(*std::move(socket)));
      takes_entries_ = true;
      return;
    }
    logger_ = LoggerTo(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<Priority>('*');
    formatter->set_pattern(json ? std::string(journal.empty() ? "" : "%*") + kJsonPattern
                                : (journal.empty() ? kTextPattern : kJournalPattern));
    logger_->set_formatter(std::move(formatter));
  }

  /// Ends the thread first, because the thread writes the waiting lines and uses the other members.
  ~Sink() { pool_.reset(); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] spdlog::async_logger& logger() const { return *logger_; }
  [[nodiscard]] bool takes_entries() const { return takes_entries_; }

 private:
  [[nodiscard]] std::shared_ptr<spdlog::async_logger> LoggerTo(spdlog::sink_ptr sink) const {
    return std::make_shared<spdlog::async_logger>("", std::move(sink), pool_,
                                                  spdlog::async_overflow_policy::overrun_oldest);
  }

  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
  bool takes_entries_ = false;
};

Log::Log(LogLevel level, LogFormat format, const std::string& journal)
    : sink_(std::make_unique<Sink>(format, journal)),
      line_(format == LogFormat::kJson ? JsonMembers
            : sink_->takes_entries()   ? JournalEntry
                                       : TextLine) {
  SetLevel(level);
}

Log::~Log() = default;

void Log::SetLevel(LogLevel level) { sink_->logger().set_level(LevelOf(level)); }

bool Log::Takes(LogLevel level) const { return sink_->logger().should_log(LevelOf(level)); }

void Log::Write(LogLevel level, std::string_view event, std::string_view message,
                std::initializer_list<LogField> fields) {
  if (!Takes(level)) return;
  const std::string line = line_(event, message, fields);
  sink_->logger().log(LevelOf(level), spdlog::string_view_t(line.data(), line.size()));
}

std::string JournalOf(int descriptor, std::string_view journal_stream) {
  struct stat status = {};
  const bool is_journal = fstat(descriptor, &status) == 0 &&
                          journal_stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
  return is_journal ? "/run/systemd/journal/socket" : "";
}

std::string TextLine(std::string_view event, std::string_view message,
                     std::initializer_list<LogField> fields) {
  std::string line(event);
  if (!message.empty()) line += ": ";
  // Control characters become spaces, so that a foreign text can't start a new line or control the
  // terminal of a reader.
  std::string text(message);
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  line += Printable(text);
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

std::string JournalEntry(std::string_view event, std::string_view message,
                         std::initializer_list<LogField> fields) {
  std::string entry;
  AppendJournalField(entry, "MESSAGE", TextLine(event, message, fields));
  AppendJournalField(entry, "SYSLOG_IDENTIFIER", "cccl-cached");
  AppendJournalField(entry, "CCCL_EVENT", event);
  for (const LogField& field : fields) {
    std::string name = "CCCL_";
    for (const char c : field.name) name += static_cast<char>(std::toupper(c));
    const auto* const number = std::get_if<int64_t>(&field.value);
    AppendJournalField(entry, name,
                       number ? std::to_string(*number) : std::get<std::string_view>(field.value));
  }
  return entry;
}

void LogBuild(Log& log, const BuildRecord& record) {
  const LogLevel level = record.total_time >= kSlow ? LogLevel::kInfo : LogLevel::kDebug;
  if (!log.Takes(level)) return;
  const std::string request = fmt::format("{:x}", record.request_id);
  if (!record.result) {
    log.Write(level, "build", "",
              {{"request", request},
               {"uid", int64_t{record.peer.uid}},
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
            {{"request", request},
             {"uid", int64_t{record.peer.uid}},
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

LimitedLog::LimitedLog(Log& log, std::string event, std::function<Clock::time_point()> now,
                       LogLevel level)
    : log_(log),
      event_(std::move(event)),
      now_(std::move(now)),
      level_(level),
      allowed_(kLinesAtOnce, kLinesPerSecond, now_()) {}

void LimitedLog::Write(std::string_view message) {
  const MutexLock lock(mutex_);
  if (!allowed_.Take(now_())) {
    ++left_out_;
    return;
  }
  if (left_out_ == 0) {
    log_.Write(level_, event_, message);
  } else {
    log_.Write(level_, event_, message, {{"left_out", left_out_}});
  }
  left_out_ = 0;
}

}  // namespace cccl_cache::daemon

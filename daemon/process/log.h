// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/configuration/configuration.h"

namespace cccl_cache::daemon {

/// One value of a line, under its name.
struct LogField {
  std::string_view name;
  std::variant<std::string_view, int64_t> value;
};

/// One line for each event on standard error. Thread-safe; a line is handed to a thread of the
/// log's own, and the oldest ones are dropped when the reader does not keep up: no build waits for
/// a log.
class Log {
 public:
  Log(LogLevel level, LogFormat format);
  /// Writes what waits.
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
  const LogFormat format_;
  const std::unique_ptr<Sink> sink_;
};

/// What follows the time and the level on a line.
[[nodiscard]] std::string TextLine(std::string_view event, std::string_view message,
                                   std::initializer_list<LogField> fields);
/// The same as members of a JSON object, each after a comma.
[[nodiscard]] std::string JsonMembers(std::string_view event, std::string_view message,
                                      std::initializer_list<LogField> fields);

}  // namespace cccl_cache::daemon

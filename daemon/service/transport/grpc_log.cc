// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/grpc_log.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxText = 300;
/// The beginning of the message that gRPC logs before it calls abort(). Such a message, like a
/// fatal one of protobuf, also goes to standard error, because the process ends before another
/// thread could write it to the log.
constexpr std::string_view kLastLine = "assertion failed";

struct Reporter {
  Mutex mutex;
  std::function<void(std::string_view)> report GUARDED_BY(mutex);
};

/// Returns the only reporter, because the hooks of gRPC and protobuf are functions without state.
/// It is never destroyed, because gRPC's threads run until the end of the process.
Reporter& CurrentReporter() {
  static Reporter& reporter = *new Reporter;
  return reporter;
}

std::string Printable(std::string_view text) {
  std::string printable(text.substr(0, kMaxText));
  std::ranges::replace_if(
      printable, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return printable;
}

void Tell(std::string_view file, int line, std::string_view message, bool is_last) {
  const std::string text =
      fmt::format("{}:{} {}", file.substr(file.find_last_of('/') + 1), line, Printable(message));
  if (is_last) std::fputs((text + "\n").c_str(), stderr);
  Reporter& reporter = CurrentReporter();
  const MutexLock lock(reporter.mutex);
  if (reporter.report) reporter.report(text);
}

void TakeMessage(gpr_log_func_args* args) {
  const std::string_view message = args->message;
  Tell(args->file, args->line, message, message.starts_with(kLastLine));
}

void TakeProtobufMessage(google::protobuf::LogLevel level, const char* file, int line,
                         const std::string& message) {
  if (level < google::protobuf::LOGLEVEL_ERROR) return;
  Tell(file, line, message, level == google::protobuf::LOGLEVEL_FATAL);
}

}  // namespace

GrpcLog::GrpcLog(std::function<void(std::string_view)> report) {
  Reporter& reporter = CurrentReporter();
  const MutexLock lock(reporter.mutex);
  reporter.report = std::move(report);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&TakeMessage);
  google::protobuf::SetLogHandler(&TakeProtobufMessage);
}

GrpcLog::~GrpcLog() {
  Reporter& reporter = CurrentReporter();
  const MutexLock lock(reporter.mutex);
  reporter.report = nullptr;
}

}  // namespace cccl_cache::daemon

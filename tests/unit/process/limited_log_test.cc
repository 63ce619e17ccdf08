// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "daemon/process/log.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::limited_log_test {
namespace {

using std::chrono_literals::operator""s;

/// Returns the log's output on standard error while `use` runs.
std::string Logged(const std::function<void(Log&)>& use) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/log";
  const int saved = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  dup2(file, STDERR_FILENO);
  {
    Log log(LogLevel::kInfo, LogFormat::kText);
    use(log);
  }
  dup2(saved, STDERR_FILENO);
  close(file);
  close(saved);
  std::ifstream written(path);
  return {std::istreambuf_iterator<char>(written), {}};
}

TEST_CASE("ten of many warnings are written, and a later one has the number of dropped ones") {
  LimitedLog::Clock::time_point now{1'000s};
  const std::string logged = Logged([&now](Log& log) {
    LimitedLog limited(log, "grpc", [&now] { return now; });
    for (int i = 0; i < 25; ++i) limited.Write("again");
    now += 60s;
    limited.Write("later");
    limited.Write("later");
  });
  CHECK(std::ranges::count(logged, '\n') == 12);
  CHECK(logged.find("warning grpc: later left_out=15") != std::string::npos);
  CHECK(logged.ends_with("warning grpc: later\n"));
}

}  // namespace
}  // namespace cccl_cache::daemon::limited_log_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/interpose/report.h"

namespace cccl_cache::cli {

/// The counts of the stand-ins of one process, or of several together.
struct RunCounts {
  int pid = 0;
  std::string program;
  uint64_t calls = 0;
  uint64_t hits = 0;
  uint64_t joined = 0;
  uint64_t compiled = 0;
  uint64_t failed = 0;
  uint64_t call_us = 0;
  uint64_t forwarded_us = 0;
  uint64_t saved_us = 0;
  std::array<uint64_t, interpose::kReasonNames.size()> forwarded{};
  std::string refusal;          ///< the first refusal
  std::string unknown_library;  ///< the first unknown library
  uint64_t uncacheable = 0;
  std::string uncacheable_reason;  ///< the reason of the first uncacheable build
  uint64_t precompiled_headers = 0;
};

/// Gets the advice in a report from the daemon. Each function is called only if it explains a
/// forwarded call.
struct Advisor {
  /// Returns why a client reaches no daemon, with the remedy; "" if it reaches one.
  std::function<std::string()> no_daemon;
  /// Returns the daemon's reason for not knowing a library, with the remedy.
  std::function<std::string(const std::string& library)> unknown_library;
};

/// A directory in which the processes of a run write their counts; removed with the object.
class RunReport {
 public:
  /// Makes the directory in $TMPDIR, else in /tmp. Fails if neither is possible.
  static Expected<RunReport> Make();
  RunReport(RunReport&&) = default;
  RunReport& operator=(RunReport&&) = delete;
  ~RunReport();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  /// Returns the report, which begins with its verdict in a sentence. `each`: with a line for each
  /// process.
  [[nodiscard]] std::string Text(bool each, const Advisor& advisor) const;
  [[nodiscard]] std::string Json(bool each, const Advisor& advisor) const;

 private:
  explicit RunReport(std::string directory) : directory_(std::move(directory)) {}
  /// Returns the counts in order of pids.
  [[nodiscard]] std::vector<RunCounts> Read(const Advisor& advisor) const;

  std::string directory_;
};

}  // namespace cccl_cache::cli

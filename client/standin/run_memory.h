// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "client/src/leases/reservation.h"
#include "client/standin/command_line.h"
#include "client/standin/real_tool.h"

namespace cccl_cache::standin {

/// Returns the kind of a run. The texts of its inputs do not matter, so that a file has the same
/// kind after an edit.
[[nodiscard]] MemoryKind KindOf(const ToolRun& run);

/// The memory for a run of a tool, as far as the daemon reserves it.
class RunMemory {
 public:
  /// Reserves nothing.
  RunMemory() = default;
  /// Waits until the daemon at this socket has reserved the memory that earlier runs of the kind
  /// needed, but not after `until`. Does not wait if the daemon reserves nothing, nor in a process
  /// that was started by such a run, because that one holds the memory for both.
  RunMemory(const std::string& socket, const MemoryKind& kind,
            std::optional<std::chrono::steady_clock::time_point> until);

  /// Runs the tool as RealTool::Run does, and tells the daemon how much memory it needed.
  [[nodiscard]] std::optional<Ending> Run(const RealTool& tool, char** arguments,
                                          bool joined = false);

 private:
  std::unique_ptr<Reservation> reservation_;
};

}  // namespace cccl_cache::standin

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/run_memory.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/interpose/wait.h"
#include "proto/digest.h"

namespace cccl_cache::standin {
namespace {

/// Set in the environment of a tool whose memory is reserved.
constexpr char kReservedVariable[] = "CCCL_CACHE_RESERVED";

/// Returns 0 for inputs below 64 KiB, and one more for each doubling.
uint64_t SizeClass(const std::vector<std::string>& inputs) {
  uint64_t bytes = 0;
  for (const std::string& input : inputs) {
    struct stat status;
    if (stat(input.c_str(), &status) == 0) bytes += static_cast<uint64_t>(status.st_size);
  }
  return static_cast<uint64_t>(std::bit_width(bytes >> 16));
}

}  // namespace

MemoryKind KindOf(const ToolRun& run) {
  MemoryKind kind{
      .tool = std::string(run.tool->name_space) + ' ' + std::to_string(SizeClass(run.inputs)),
      .kind = {}};
  Hasher hasher;
  hasher.AppendValue("tool", kind.tool);
  hasher.AppendValue("options", run.options);
  hasher.AppendValue("paths", run.shown_paths);
  const std::string& input = run.inputs.front();
  hasher.AppendValue("input", run.temporary_name.Hide(input).value_or(input));
  kind.kind = hasher.Finish().View();
  return kind;
}

RunMemory::RunMemory(const std::string& socket, const MemoryKind& kind,
                     std::optional<std::chrono::steady_clock::time_point> until) {
  if (secure_getenv(kReservedVariable) != nullptr) return;
  std::chrono::milliseconds most = Reservation::kLongestWait;
  if (until) {
    const auto left = *until - std::chrono::steady_clock::now();
    most = std::max(std::chrono::ceil<std::chrono::milliseconds>(left), interpose::kLeastWait);
  }
  reservation_ = Reservation::Await(socket, kind, most);
}

std::optional<Ending> RunMemory::Run(const RealTool& tool, char** arguments, bool joined) {
  if (reservation_ == nullptr) return tool.Run(arguments, joined);
  setenv(kReservedVariable, "1", 1);
  auto ending = tool.Run(arguments, joined);
  unsetenv(kReservedVariable);
  if (ending) reservation_->Report(ending->peak_bytes);
  return ending;
}

}  // namespace cccl_cache::standin

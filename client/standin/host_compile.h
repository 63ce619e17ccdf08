// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/standin/real_tool.h"
#include "client/standin/tool.h"

namespace cccl_cache::standin {

/// What GCC's driver would do for a command line. The name of the output file has no effect.
struct DriverPlan {
  std::string commands;  ///< all commands with their options, as the driver prints them
  std::vector<std::string> programs;  ///< paths of the compiler and the assembler
};
/// Asks the driver. None if it is not GCC's, or a program is not found.
[[nodiscard]] std::optional<DriverPlan> PlanOf(const RealTool& driver, const Words& words);

/// Returns the preprocessed text of a compile. Equal texts with equal options have equal objects.
/// None if that fails, or the text lets the assembler read another file.
[[nodiscard]] std::optional<std::string> Preprocess(const RealTool& driver, const Words& words);

}  // namespace cccl_cache::standin

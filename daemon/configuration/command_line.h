// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/configuration/settings.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What was typed.
struct CommandLine {
  std::vector<Assignment> assignments;
  std::string config_file;  ///< empty: not named
  bool print_config = false;
  bool version = false;
  /// Set if help was asked for: the text to print.
  std::optional<std::string> help;
};

/// `arguments` without the program's name.
[[nodiscard]] Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/configuration/settings.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The parsed command line.
struct CommandLine {
  std::vector<Assignment> assignments;
  std::string config_file;  ///< empty: not named
  bool print_config = false;
  bool version = false;
  /// The help text to print, set if help was asked for.
  std::optional<std::string> help;
};

/// `arguments` does not include the program's name.
[[nodiscard]] Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments);

}  // namespace cccl_cache::daemon

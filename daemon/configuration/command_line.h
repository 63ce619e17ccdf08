// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/configuration/settings.h"
#include "daemon/core/model/result.h"

namespace CLI {
class App;
}

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

/// Calls `read` with all flags, for the man page. Their defaults are those of the node's service.
void ReadFlags(const std::function<void(const CLI::App& app)>& read);

}  // namespace cccl_cache::daemon

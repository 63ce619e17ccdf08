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
  /// The help text to print; none if help was not asked for.
  std::optional<std::string> help;
};

/// `arguments` does not include the program's name.
[[nodiscard]] Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments);

/// Calls `read` with all flags, for the man page. Defaults are those of the system service.
void ReadFlags(const std::function<void(const CLI::App& app)>& read);

}  // namespace cccl_cache::daemon

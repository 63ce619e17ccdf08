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
  std::string config_file;  ///< absolute path; empty if --config was not given
  bool print_config = false;
  bool version = false;
  /// The text to print for --help. None if --help was not given.
  std::optional<std::string> help;
};

/// `arguments` does not include the program's name.
[[nodiscard]] Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments);

/// Calls `read` with the definition of all flags, to make the man page. The default values are
/// those of the system service.
void ReadFlags(const std::function<void(const CLI::App& app)>& read);

}  // namespace cccl_cache::daemon

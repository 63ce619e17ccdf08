// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/configuration/command_line.h"
#include "daemon/configuration/configuration.h"
#include "daemon/configuration/settings.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct LoadedConfiguration {
  Configuration values;
  std::map<std::string_view, std::string> origins;  ///< by name; what is missing is a default
};

/// Flag beats environment beats file beats default. An unknown key or variable and a value that
/// does not fit are errors, which name the place and what is accepted.
[[nodiscard]] Result<LoadedConfiguration> LoadConfiguration(const CommandLine& command_line,
                                                            const Surroundings& surroundings);

/// Whether the daemon can start with it: kInvalidRequest names the setting and the way out.
[[nodiscard]] Status CheckComplete(const LoadedConfiguration& loaded,
                                   const Surroundings& surroundings);

/// A configuration file that sets all this, with the origin of each value as a comment.
[[nodiscard]] std::string PrintConfiguration(const LoadedConfiguration& loaded);

/// What a configuration file sets. Every error names file and line.
[[nodiscard]] Result<std::vector<Assignment>> ReadTomlFile(const std::string& path);

}  // namespace cccl_cache::daemon

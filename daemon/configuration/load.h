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
  std::map<std::string_view, std::string> origins;  ///< by setting's name; no entry: default
  std::string file = {};                            ///< path of the file that was read; empty: none
};

/// Loads the settings: flags override the environment, which overrides the file, which overrides
/// the defaults. An unknown key or variable, or an invalid value, is an error that names its origin
/// and the accepted values.
[[nodiscard]] Result<LoadedConfiguration> LoadConfiguration(const CommandLine& command_line,
                                                            const Surroundings& surroundings);

/// Checks that the daemon can start with the configuration. kInvalidRequest names the setting and
/// the remedy.
[[nodiscard]] Status CheckComplete(const LoadedConfiguration& loaded,
                                   const Surroundings& surroundings);

/// Returns a configuration file that sets all values, with the origin of each as a comment.
[[nodiscard]] std::string PrintConfiguration(const LoadedConfiguration& loaded);

/// Returns the assignments of a configuration file. Every error names file and line.
[[nodiscard]] Result<std::vector<Assignment>> ReadTomlFile(const std::string& path);

}  // namespace cccl_cache::daemon

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

/// Loads all settings. Flags override environment variables, these override the file, and the file
/// overrides the defaults. An unknown key or variable and an invalid value are errors. The message
/// names the origin and the accepted values.
[[nodiscard]] Result<LoadedConfiguration> LoadConfiguration(const CommandLine& command_line,
                                                            const Surroundings& surroundings);

/// Checks that the daemon has all settings without which it can't start. The error kInvalidRequest
/// names the missing setting and the remedy.
[[nodiscard]] Status CheckComplete(const LoadedConfiguration& loaded,
                                   const Surroundings& surroundings);

/// Returns the text of a configuration file with all settings. A comment after each one gives its
/// origin.
[[nodiscard]] std::string PrintConfiguration(const LoadedConfiguration& loaded);

/// Returns the assignments of a configuration file. Every error names file and line.
[[nodiscard]] Result<std::vector<Assignment>> ReadTomlFile(const std::string& path);

}  // namespace cccl_cache::daemon

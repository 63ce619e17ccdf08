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
  std::string file = {};                            ///< that was read; empty: none
};

/// A flag overrides the environment, which overrides the file, which overrides the default. An
/// unknown key or variable, or an invalid value, is an error that names the place and the accepted
/// values.
[[nodiscard]] Result<LoadedConfiguration> LoadConfiguration(const CommandLine& command_line,
                                                            const Surroundings& surroundings);

/// Checks that the daemon can start with the configuration. kInvalidRequest names the setting and
/// the way out.
[[nodiscard]] Status CheckComplete(const LoadedConfiguration& loaded,
                                   const Surroundings& surroundings);

/// Returns a configuration file that sets all values, with the origin of each as a comment.
[[nodiscard]] std::string PrintConfiguration(const LoadedConfiguration& loaded);

/// Returns the assignments of a configuration file. Every error names file and line.
[[nodiscard]] Result<std::vector<Assignment>> ReadTomlFile(const std::string& path);

}  // namespace cccl_cache::daemon

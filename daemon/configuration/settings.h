// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/configuration/configuration.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The description of one setting. The flags, the environment variables, the keys of the
/// configuration file and --print-config are generated from the table of all settings.
struct Setting {
  std::string_view name;  ///< key in the file: "socket_mode"
  std::string_view placeholder;
  std::string_view help;  ///< one line
  bool list;              ///< whether the setting may have several values
  bool path;              ///< a path; on the command line it may be relative
  bool bare;              ///< whether the configuration file has the value without quotes
  /// Sets the value from `texts`, which has exactly one element unless the setting is a list. The
  /// error names the accepted values.
  Status (*set)(Configuration& configuration, const std::vector<std::string>& texts);
  /// Returns the value as written in the file.
  std::string (*show)(const Configuration& configuration);

  [[nodiscard]] std::string Flag() const;      ///< "--socket-mode"
  [[nodiscard]] std::string Variable() const;  ///< "CCCL_CACHED_SOCKET_MODE"
};

[[nodiscard]] std::span<const Setting> Settings();

/// Returns null if there is no such setting.
[[nodiscard]] const Setting* FindSetting(std::string_view name);

/// The value of a setting from a flag, an environment variable or the configuration file.
struct Assignment {
  const Setting* setting;
  std::vector<std::string> texts;
  std::string origin;  ///< for messages: "flag --jobs", "/etc/cccl-cached/config.toml:12"
};

}  // namespace cccl_cache::daemon

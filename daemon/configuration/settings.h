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

/// One row of the table from which flags, the configuration file, the environment and
/// --print-config are made.
struct Setting {
  std::string_view name;  ///< key in the file: "socket_mode"
  std::string_view placeholder;
  std::string_view help;  ///< one line
  bool list;              ///< may be given several times
  bool path;              ///< a path; the command line makes a relative one absolute
  bool bare;              ///< written in the file as a number, without quotes
  /// Sets the value from `texts` (exactly one unless it is a list). The error names the accepted
  /// values.
  Status (*set)(Configuration& configuration, const std::vector<std::string>& texts);
  /// Returns the value as written in the file.
  std::string (*show)(const Configuration& configuration);

  [[nodiscard]] std::string Flag() const;      ///< "--socket-mode"
  [[nodiscard]] std::string Variable() const;  ///< "CCCL_CACHED_SOCKET_MODE"
};

[[nodiscard]] std::span<const Setting> Settings();

/// Returns null if there is no such setting.
[[nodiscard]] const Setting* FindSetting(std::string_view name);

/// A value that one source gives to one setting.
struct Assignment {
  const Setting* setting;
  std::vector<std::string> texts;
  std::string origin;  ///< for messages: "flag --jobs", "/etc/cccl-cached/config.toml:12"
};

}  // namespace cccl_cache::daemon

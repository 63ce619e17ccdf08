// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace cccl_cache::daemon {

/// What the process finds around it; handed in so that tests can choose it. A plain value.
struct Surroundings {
  std::map<std::string, std::string, std::less<>> environment;
  uid_t uid = 0;
  uint64_t processors = 1;
  std::string system_config_file = "/etc/cccl-cached/config.toml";

  /// Empty if it is not set.
  [[nodiscard]] std::string Variable(std::string_view name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  }

  /// Those of this process.
  [[nodiscard]] static Surroundings OfThisProcess();
};

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cccl_cache::cli {

/// Returns the uid as text, or a short name such as "c3" for a user of a container, whose number
/// has a meaning only in the daemon.
[[nodiscard]] std::string UserLabel(uint32_t uid);

/// The names of this system's users. Each is looked up once, because a directory service may take
/// long. Not thread-safe.
class UserNames {
 public:
  /// Returns the name of the user with this number, or the label if it is no number or has no name.
  [[nodiscard]] std::string Of(const std::string& label);

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace cccl_cache::cli

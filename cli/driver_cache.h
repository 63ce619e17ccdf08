// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cccl_cache::cli {

/// The driver's version as libcuda told it, kept in a file of this user's: to load libcuda again
/// for it would take longer than a whole hit. An immutable value; processes may share the file.
class DriverMemory {
 public:
  /// In $XDG_CACHE_HOME/cccl-cache, else ~/.cache/cccl-cache. Valid while the boot, the driver, the
  /// mounts, the library search path and the preloaded libraries stay as they are for this process.
  [[nodiscard]] static DriverMemory OfThisProcess();

  /// An entry in `directory`, which only this user may write, is valid under the same
  /// `surroundings`. If either is empty, nothing is kept.
  DriverMemory(std::string directory, std::string surroundings)
      : directory_(std::move(directory)), surroundings_(std::move(surroundings)) {}

  /// Returns the kept version, or else that of `ask`, which is then kept unless it is 0. A file
  /// that can't be read, parsed or written is not an error.
  [[nodiscard]] uint32_t Version(const std::function<uint32_t()>& ask) const;

 private:
  [[nodiscard]] uint32_t Kept() const;
  void Keep(uint32_t version) const;

  std::string directory_;
  std::string surroundings_;
};

}  // namespace cccl_cache::cli

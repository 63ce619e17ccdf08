// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

/// Small values that a process keeps for later processes of its user. Each value can be computed
/// again. A value is one file in a directory that only this user can write. A value that can't be
/// read, or that other users could have written, counts as absent. A file is replaced as a whole,
/// but its contents may be damaged after a power cut. Beyond 512 files the oldest are removed.
/// Immutable; safe for several threads, processes and nodes, and in foreign programs.
class UserCache {
 public:
  /// Returns the values of this kind in CacheDirectory(). Without that directory it keeps nothing.
  [[nodiscard]] static UserCache Of(std::string_view kind);
  /// `directory` is an absolute path. Its last `own` directories are made at the first use.
  UserCache(std::string directory, size_t own) : directory_(std::move(directory)), own_(own) {}

  /// Returns whether values can be kept. Makes the directory.
  [[nodiscard]] bool Keeps() const { return MakeDirectory().valid(); }
  /// In `name`, '/' and '-' are the same character.
  [[nodiscard]] std::optional<std::string> Get(std::string_view name) const;
  void Put(std::string_view name, std::string_view value) const;
  void Remove(std::string_view name) const;
  /// Returns the time since the value was put. None if it is absent or its time is in the future.
  [[nodiscard]] std::optional<std::chrono::seconds> Age(std::string_view name) const;

 private:
  /// Return an invalid descriptor if there is no directory, or if others can write it.
  [[nodiscard]] FileDescriptor OpenDirectory() const;
  [[nodiscard]] FileDescriptor MakeDirectory() const;

  std::string directory_;  ///< empty: keeps nothing
  size_t own_;
};

}  // namespace cccl_cache

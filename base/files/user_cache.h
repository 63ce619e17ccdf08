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

/// Small values that a process keeps for later processes of its user, all of which can be found out
/// again: one file each, in a directory that only this user can write. A value that can't be read,
/// or that other users could have written, counts as absent. A file is replaced as a whole, but its
/// contents may be damaged after a power cut. Beyond 512 files the oldest go. Immutable; safe for
/// several threads, processes and nodes, and in other people's programs.
class UserCache {
 public:
  /// Values of this kind in CacheDirectory(). Keeps nothing if there is none.
  [[nodiscard]] static UserCache Of(std::string_view kind);
  /// `directory`: an absolute path, of which the last `own` directories are made when needed.
  UserCache(std::string directory, size_t own) : directory_(std::move(directory)), own_(own) {}

  /// Returns whether values can be kept. Makes the directory.
  [[nodiscard]] bool Keeps() const { return MakeDirectory().valid(); }
  /// In a name, '/' and '-' are one.
  [[nodiscard]] std::optional<std::string> Get(std::string_view name) const;
  void Put(std::string_view name, std::string_view value) const;
  void Remove(std::string_view name) const;
  /// Returns the time since the value was put; none if it is absent or was put in the future.
  [[nodiscard]] std::optional<std::chrono::seconds> Age(std::string_view name) const;

 private:
  /// Each returns an invalid descriptor if there is none, or if others can write it.
  [[nodiscard]] FileDescriptor OpenDirectory() const;
  [[nodiscard]] FileDescriptor MakeDirectory() const;

  std::string directory_;  ///< empty: nothing is kept
  size_t own_;
};

}  // namespace cccl_cache

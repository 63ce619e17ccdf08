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

/// Stores small values in files for later processes of the same user. Each value is one file in a
/// directory that only this user can write, and can be computed again. A value that can't be read,
/// or that other users could have written, counts as absent. A file is replaced as a whole, but its
/// contents may be damaged after a power cut. If there are more than 512 files, the oldest are
/// removed. Immutable; safe for several threads, processes and machines, and in foreign programs.
class UserCache {
 public:
  /// Returns the cache of the values of one kind, in the directory CacheDirectory()/kind. If
  /// CacheDirectory() is empty, the returned object stores nothing.
  [[nodiscard]] static UserCache Of(std::string_view kind);
  /// `directory` is an absolute path, or empty: no value is stored. Put() and Keeps() create its
  /// last `own` directories if they are missing.
  UserCache(std::string directory, size_t own) : directory_(std::move(directory)), own_(own) {}

  /// Returns whether values can be stored. Creates the directory if it is missing.
  [[nodiscard]] bool Keeps() const { return MakeDirectory().valid(); }
  /// Returns the value of this name, or none. A '/' in the name is stored as '-', so "a/b" and
  /// "a-b" are one name.
  [[nodiscard]] std::optional<std::string> Get(std::string_view name) const;
  void Put(std::string_view name, std::string_view value) const;
  void Remove(std::string_view name) const;
  /// Returns the time since the value was stored. Returns none if it is absent, or was stored in
  /// the future by this machine's clock.
  [[nodiscard]] std::optional<std::chrono::seconds> Age(std::string_view name) const;

 private:
  /// Both return an invalid descriptor if there is no directory, or if other users can write it.
  [[nodiscard]] FileDescriptor OpenDirectory() const;
  [[nodiscard]] FileDescriptor MakeDirectory() const;

  std::string directory_;  ///< if empty, no value is stored
  size_t own_;
};

}  // namespace cccl_cache

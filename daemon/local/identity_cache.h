// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon {

/// The small facts about toolchains that a daemon keeps in its database, here as one file each in a
/// directory of the user's. So only the first local build hashes the toolchains. A file's name is
/// the fact's name with '-' for '/', and its contents are the value. A file counts as absent if it
/// can't be read or written, or if other users could change it. Safe for several threads and
/// processes.
class IdentityCache final : public MetaStore {
 public:
  /// `directory` is made with the first fact, with its parent; empty: nothing is kept.
  explicit IdentityCache(std::string directory) : directory_(std::move(directory)) {}

  /// Returns $XDG_CACHE_HOME/cccl-cache, else ~/.cache/cccl-cache; empty without a home.
  [[nodiscard]] static std::string DefaultDirectory(std::string_view cache_home,
                                                    std::string_view home);

  std::optional<std::string> GetMeta(std::string_view name) override;
  void PutMeta(std::string_view name, std::string_view value) override;

 private:
  /// Returns whether only root and this user can change what lies there.
  [[nodiscard]] bool Trusted() const;
  [[nodiscard]] std::string PathOf(std::string_view name) const;

  const std::string directory_;
};

}  // namespace cccl_cache::daemon

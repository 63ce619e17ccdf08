// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "daemon/core/model/result.h"
#include "daemon/toolchain/trusted_path.h"

namespace cccl_cache::daemon {

/// What is looked at at most in one header directory, and how deep.
inline constexpr int kMaxHeaderFiles = 100'000;
inline constexpr int kMaxHeaderDepth = 32;

/// Called with each regular file: its name below the directory, its path, its status.
using HeaderVisitor =
    std::function<void(std::string name, std::string path, const struct stat& status)>;

/// Visits all regular files below a trusted directory in no order, through symlinks too. An error
/// if anything in it can't be trusted or the tree is too large.
[[nodiscard]] Status WalkHeaderTree(const TrustedPath& directory, uid_t own_uid,
                                    LookupObserver* observer, const HeaderVisitor& visit);

}  // namespace cccl_cache::daemon

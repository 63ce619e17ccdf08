// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cccl_cache::cli {

/// Returns the uid as text, or a short name such as "c3" for a user of a container, whose number
/// has a meaning only in the daemon.
[[nodiscard]] std::string UserLabel(uint32_t uid);

/// Returns the name to show for a UserLabel().
using NameOfUser = std::function<std::string(const std::string&)>;

/// Returns a function that names this system's users. It returns the label if that is no number, or
/// no user's. It looks up each name once, because a directory service may take long. Not
/// thread-safe.
[[nodiscard]] NameOfUser NamesOfThisSystem();

}  // namespace cccl_cache::cli

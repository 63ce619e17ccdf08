// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Names and values of environment variables, in the order in which they are set.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Returns the value of an environment variable, or "" if it is not set.
[[nodiscard]] std::string Variable(const char* name);

/// The way in which the loader gets the stand-in libraries.
enum class How {
  kBest,     ///< LD_AUDIT if it costs nothing here and is not set yet; otherwise LD_PRELOAD
  kAudit,    ///< LD_AUDIT: replaces each library that the program loads, whatever its path
  kPreload,  ///< LD_PRELOAD: replaces only libraries that the loader now finds by their names
};

/// Returns the environment variables that make a program and its children compile through the
/// daemon. `wait` limits each wait for a compile in the daemon; none means no limit. `socket` is
/// the path of the daemon's socket; empty means the default. Returns no variables for stand-ins if
/// they are set already. Fails if the stand-ins are not installed, or the loader of this system
/// can't use them.
[[nodiscard]] Expected<Variables> RunEnvironment(How how,
                                                 std::optional<std::chrono::milliseconds> wait,
                                                 const std::string& socket);

/// Returns the directory with the stand-ins of this installation, with symlinks resolved.
[[nodiscard]] Expected<std::filesystem::path> InstalledStandIns();

/// Returns the environment variables for all programs of a container that has the stand-ins in this
/// directory. They serve programs with glibc 2.35 or newer, and disturb no others.
[[nodiscard]] Variables ContainerEnvironment(const std::filesystem::path& standins);

/// Returns whether the loader's variables already name the stand-ins: this process was started by a
/// program under `run`, or in a container with the cache as a device.
[[nodiscard]] bool IsUnderRun();

/// Replaces this process by a program, with these variables added to the environment. Returns only
/// if the program can't be started; then errno is set.
void Execute(const std::vector<std::string>& words, const Variables& variables);

}  // namespace cccl_cache::cli

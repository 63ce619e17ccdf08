// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cccl_cache {

/// Returns whether this machine has a daemon, which may have ended: its socket exists, or is in a
/// directory that this user may not read. `root` is the root directory, "" for that of the process.
[[nodiscard]] bool MachineHasDaemon(const std::string& root = "");

/// How to start a daemon of one's own, whatever the way in which the client was installed.
inline constexpr const char* kStartOwn =
    "start one of your own (cccl-cache-cli run --start -- PROGRAM)";

/// Returns how to start a daemon if none listens on the socket of the machine's daemon: that
/// daemon, as far as this machine has it, and otherwise one of the user's own.
[[nodiscard]] std::string StartAdvice(const std::string& root = "");

}  // namespace cccl_cache

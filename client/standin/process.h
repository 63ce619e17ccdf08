// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/files/user_cache.h"

namespace cccl_cache::standin {

/// The exit status of a stand-in that can't start the real tool.
inline constexpr int kCantStart = 127;

/// Ends this process like the tool: with the same exit status, or by the same signal. `status` is
/// from waitpid().
[[noreturn]] void EndAs(int status);

/// Returns whether this process has all three standard descriptors.
[[nodiscard]] bool StandardDescriptorsOpen();

/// Returns the directory below XDG_RUNTIME_DIR in which FactsOfThisUser() stores. "" without one.
[[nodiscard]] std::string RuntimeFacts();

/// Returns this user's directory of facts that a run stores for later runs: the versions of tools,
/// and whether the daemon hangs.
[[nodiscard]] UserCache FactsOfThisUser();

}  // namespace cccl_cache::standin

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cccl_cache::cli {

/// Prints a line to standard error that begins as a report does.
void PrintNotice(const std::string& text);

/// Returns why no daemon can be reached, and a remedy. Returns "" if a daemon can be reached.
/// `socket` is the value of --socket, or empty.
[[nodiscard]] std::string WhyNoDaemon(const std::string& socket);

/// Starts a daemon of this user if none can be reached, and waits until it is ready, for at most
/// half a minute. Without `asked_for` (--start), starts one only if the person at the terminal
/// agrees or has agreed earlier. Never starts one in place of a machine's daemon. Prints what was
/// done, or why nothing was. Returns whether it printed something. `program` is the program that
/// will use it.
bool StartOwnDaemon(const std::string& socket, const std::string& program, bool asked_for);

}  // namespace cccl_cache::cli

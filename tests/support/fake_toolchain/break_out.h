// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fake_toolchain {

/// Runs a command of a compromised compiler: a direct system call, which bypasses the C library and
/// its replacements. Returns false if there is no such command. If the process survives, appends
/// the errno's name, or "done", to `notes`.
bool BreakOut(const std::string& command, const std::string& argument, std::string& notes);

}  // namespace fake_toolchain

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fake_toolchain {

/// Commands of a compiler that was taken over: system calls by number, which bypass the C library
/// and its replacements. Returns false if there is no such command. If the process survives,
/// records the errno's name, or "done".
bool BreakOut(const std::string& command, const std::string& argument, std::string& notes);

}  // namespace fake_toolchain

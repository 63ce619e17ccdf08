// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fake_toolchain {

/// Runs a command that asks the C library about files or the process, as a compiler does. Appends
/// the answer to `notes`. Returns false if there is no such command.
bool Ask(const std::string& command, const std::string& argument, std::string& notes);

/// Reads the whole file through fopen. Returns false if it can't be opened.
bool ReadFile(const std::string& path, std::string& contents);

}  // namespace fake_toolchain

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fake_toolchain {

/// Commands that look at the world as a compiler does, through the C library. False: there is no
/// such command. The answer goes into `notes`.
bool Ask(const std::string& command, const std::string& argument, std::string& notes);

/// The whole file, through fopen. False: it can't be opened.
bool ReadFile(const std::string& path, std::string& contents);

}  // namespace fake_toolchain

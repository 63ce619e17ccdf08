// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fake_toolchain {

/// Commands of a compiler that breaks or was taken over. False: there is no such command. What
/// could be noticed of the attempt goes into `notes`.
bool Attack(const std::string& command, const std::string& argument, std::string& notes);

}  // namespace fake_toolchain

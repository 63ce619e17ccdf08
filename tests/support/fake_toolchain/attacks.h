// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fake_toolchain {

/// Runs a command of a failing or hostile compiler, most of which do not return. Returns false if
/// there is no such command.
bool Attack(const std::string& command, const std::string& argument);

}  // namespace fake_toolchain

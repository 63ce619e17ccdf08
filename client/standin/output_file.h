// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache {

/// Writes a kept output as the tool that made it does. `replaced`: the tool removes a former file
/// or link first, as the assembler and the linker do, but not an empty file. `executable`: the
/// linker's output; the umask applies. Returns false if the file can't be written.
bool WriteOutput(const std::string& path, std::string_view contents, bool replaced,
                 bool executable);

}  // namespace cccl_cache

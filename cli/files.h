// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// All bytes of a file; "-": of standard input.
[[nodiscard]] Expected<std::string> ReadFile(const std::string& path);

/// Puts a file in place at once, as OutputFile says.
[[nodiscard]] Expected<Done> WriteFile(const std::string& path, std::string_view contents);

/// Absolute; empty if it is gone.
[[nodiscard]] std::string WorkingDirectory();

/// What follows the last '/', less its last extension, with `extension` ("cubin") instead.
[[nodiscard]] std::string WithExtension(const std::string& path, std::string_view extension);
/// What follows the last '.' of the last component, empty if there is none.
[[nodiscard]] std::string_view ExtensionOf(std::string_view path);

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

/// Opens a regular file for reading. Returns an invalid descriptor for any other file, and never
/// waits for a pipe's writer.
[[nodiscard]] FileDescriptor OpenRegular(const std::string& path);

/// Returns the contents of a regular file, but at most `most` bytes. None for any other file.
[[nodiscard]] std::optional<std::string> ReadRegular(const std::string& path,
                                                     size_t most = std::string::npos);

/// Returns whether a regular file is at the path or can be made there. Devices and pipes give
/// false.
[[nodiscard]] bool TakesFile(const std::string& path);

}  // namespace cccl_cache

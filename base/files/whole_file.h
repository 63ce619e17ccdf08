// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache {

/// Reads a file, a pipe or a device from the descriptor's position to the end, or up to `most`
/// bytes. None: see errno.
[[nodiscard]] std::optional<std::string> ReadAll(int file, size_t most = std::string::npos);

/// Reads the file at a path in the same way. Waits for the writer of a named pipe.
[[nodiscard]] std::optional<std::string> ReadFileAt(const std::string& path,
                                                    size_t most = std::string::npos);

/// Writes all bytes. Returns false on an error: see errno.
[[nodiscard]] bool WriteAll(int file, std::string_view bytes);

}  // namespace cccl_cache

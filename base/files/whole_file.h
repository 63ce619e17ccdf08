// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache {

/// Reads a file, a pipe or a device from the descriptor's position to the end, but at most `most`
/// bytes. Returns none, with errno set, on an error.
[[nodiscard]] std::optional<std::string> ReadAll(int file, size_t most = std::string::npos);

/// Opens the file at `path` and reads it like ReadAll(). For a named pipe, waits for a writer.
[[nodiscard]] std::optional<std::string> ReadFileAt(const std::string& path,
                                                    size_t most = std::string::npos);

/// Writes all bytes. Returns false, with errno set, on an error.
[[nodiscard]] bool WriteAll(int file, std::string_view bytes);

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache::daemon {

/// An absolute path without "." and "//" and without a slash at its end; ".." is kept, for only the
/// kernel knows where it leads. "/" stays.
[[nodiscard]] std::string WithoutDots(std::string_view path);

/// An absolute path as its letters say: ".." takes the component before it away.
[[nodiscard]] std::string LexicallyNormal(std::string_view path);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cccl_cache::daemon {

/// How many bytes at a program's beginning hold nothing but comments, blank lines and the
/// directives #include, #define, #undef and #if with its kin, up to the end of the last of these
/// that stands in no open #if. 0: none of them is an #include. A guess of what a compiler takes for
/// the leading includes; that the compiler agrees is for it to say.
[[nodiscard]] size_t PreambleLength(std::string_view source);

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/build_options.h"

namespace cccl_cache::cli {

/// Returns a hint if the compiler's log shows a common mistake with --arch, --emit, an option or an
/// input. The compiler's log does not know this command's options. Without a log: the name of its
/// error. Empty: no hint is known.
[[nodiscard]] std::string FailureHint(const CompilePlan& plan, std::string_view log);

}  // namespace cccl_cache::cli

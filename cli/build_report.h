// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/build_options.h"

namespace cccl_cache::cli {

/// Returns a hint if the compiler's log shows a common mistake with --arch, --emit, an option or an
/// input. The compiler's log does not know this command's options. Without a log: the name of its
/// error. Empty: no hint is known.
[[nodiscard]] std::string FailureHint(const CompilePlan& plan, std::string_view log);

/// Returns the summary of a successful build: "hit (memory) 0.7 ms", "built 2.6 s", with the reason
/// where it was not cached; in detail with its key and toolchain, a line each. `time`: as Report
/// has it.
[[nodiscard]] std::string SummaryOf(const BuildResult& result, const CompilePlan& plan,
                                    std::chrono::microseconds time);

}  // namespace cccl_cache::cli

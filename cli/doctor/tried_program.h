// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <chrono>
#include <string>
#include <vector>

#include "cli/run/environment.h"

namespace cccl_cache::cli {

/// The result of a program that a check started.
struct Ended {
  std::string output;    ///< the first 16 KiB
  int status = SIGKILL;  ///< as from waitpid; SIGKILL: it was killed after the time limit
};

/// Runs a program in / with these variables added to this process's, and kills it with all its
/// children after the time limit. `kept`: the returned output, standard output or error; the other
/// one is discarded.
[[nodiscard]] Ended Try(const std::vector<std::string>& words, const Variables& variables, int kept,
                        std::chrono::milliseconds patience);

/// Returns the end in words, as "crashed (signal 11)".
[[nodiscard]] std::string HowItEnded(int status);

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <chrono>
#include <string>
#include <vector>

#include "cli/run/environment.h"

namespace cccl_cache::cli {

/// The end of a program that a check started.
struct Ended {
  std::string output;    ///< the first 16 KiB
  int status = SIGKILL;  ///< as waitpid has it; SIGKILL: it did not end by itself
};

/// Runs a program in / with this process' variables and these, and ends it with all its children
/// when the time is over. `kept`: the returned output, standard output or error; the other one is
/// discarded.
[[nodiscard]] Ended Try(const std::vector<std::string>& words, const Variables& variables, int kept,
                        std::chrono::milliseconds patience);

/// Returns "crashed (signal 11)", or the like.
[[nodiscard]] std::string HowItEnded(int status);

}  // namespace cccl_cache::cli

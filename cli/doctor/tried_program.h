// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <chrono>
#include <string>
#include <vector>

#include "cli/run/environment.h"

namespace cccl_cache::cli {

/// How a program ended that a check tried.
struct Ended {
  std::string output;    ///< the first 16 KiB
  int status = SIGKILL;  ///< as waitpid has it; SIGKILL: it did not end by itself
};

/// Runs a program in / with these variables besides this process' own, and ends it, with all that
/// it started, when the time is over. `kept`: the descriptor whose output is returned, standard
/// output or error; the other one leads nowhere.
[[nodiscard]] Ended Try(const std::vector<std::string>& words, const Variables& variables, int kept,
                        std::chrono::milliseconds patience);

/// Returns "crashed (signal 11)", or the like.
[[nodiscard]] std::string HowItEnded(int status);

}  // namespace cccl_cache::cli

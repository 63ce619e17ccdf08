// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace cccl_cache::cli {

// Return scripts that complete commands, options, choices and file names. They know three commands
// by name: `run`, which a program follows, `explain`, whose `--` a command follows, and `help`.
[[nodiscard]] std::string BashCompletion(const CLI::App& app);
[[nodiscard]] std::string ZshCompletion(const CLI::App& app);
[[nodiscard]] std::string FishCompletion(const CLI::App& app);

}  // namespace cccl_cache::cli

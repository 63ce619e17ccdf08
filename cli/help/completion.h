// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace cccl_cache::cli {

// The functions below return shell scripts that complete commands, options, choices and file names.
// The scripts handle three commands specially: `run`, which is followed by another program's
// command line; `explain`, whose `--` is followed by a command of this program; and `help`.
[[nodiscard]] std::string BashCompletion(const CLI::App& app);
[[nodiscard]] std::string ZshCompletion(const CLI::App& app);
[[nodiscard]] std::string FishCompletion(const CLI::App& app);

}  // namespace cccl_cache::cli

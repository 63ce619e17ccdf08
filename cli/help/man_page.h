// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace cccl_cache::cli {

struct ManPage {
  std::string file;  ///< "cccl-cache-cli-build.1"
  std::string text;
};

/// Returns a page for the program and one for each of its commands with its subcommands. `version`:
/// "cccl-cached 0.1.0"; `see_also`: the page of another program, "cccl-cached(8)".
///
/// Lines of a footer become sections. "Example: ..." goes to EXAMPLES. "Exit codes: 0 done, 2
/// usage" goes to EXIT STATUS, also of subcommands without their own. "Environment: NAME text" goes
/// to ENVIRONMENT of the command and all its subcommands.
[[nodiscard]] std::vector<ManPage> ManPages(const CLI::App& program, int section,
                                            const std::string& version,
                                            const std::string& see_also);

/// Returns the text escaped for a line of troff's input.
[[nodiscard]] std::string TroffText(std::string_view text);

}  // namespace cccl_cache::cli

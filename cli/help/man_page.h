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
  std::string file;  ///< file name, such as "cccl-cache-cli-build.1"
  std::string text;
};

/// Returns a page for the program, and one for each of its commands, which includes the command's
/// subcommands. `section` is the manual's section. `version` is text such as "cccl-cached 0.1.0".
/// `see_also` is the page of another program, such as "cccl-cached(8)".
///
/// Some lines of a command's footer become sections of the page. "Example: ..." goes to EXAMPLES.
/// "Exit codes: 0 done, 2 usage" goes to EXIT STATUS, which subcommands without such a line
/// inherit. "Environment: NAME text" goes to ENVIRONMENT of the command and all its subcommands.
[[nodiscard]] std::vector<ManPage> ManPages(const CLI::App& program, int section,
                                            const std::string& version,
                                            const std::string& see_also);

/// Escapes the text for use as one line of troff input.
[[nodiscard]] std::string TroffText(std::string_view text);

}  // namespace cccl_cache::cli

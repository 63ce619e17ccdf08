// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

/// The result of a run of cccl-cache-cli.
struct CliResult {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

/// Runs the real command line in `directory` with only `environment` as its environment.
CliResult RunCli(const std::vector<std::string>& arguments, const std::string& directory,
                 const std::string& input = "",
                 const std::vector<std::pair<std::string, std::string>>& environment = {});

/// Returns the file's bytes; empty if it is missing.
std::string Contents(const std::string& path);

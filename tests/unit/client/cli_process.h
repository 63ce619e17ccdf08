// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

/// What a run of cccl-cache-cli left.
struct CliResult {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

/// Runs the real command line in `directory` with nothing in its environment but `environment`.
CliResult RunCli(const std::vector<std::string>& arguments, const std::string& directory,
                 const std::string& input = "",
                 const std::vector<std::pair<std::string, std::string>>& environment = {});

/// The file's bytes; empty if it is not there.
std::string Contents(const std::string& path);

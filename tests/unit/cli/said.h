// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/terminal/command.h"

/// The exit code of a part of the command line, and its output on both streams.
struct Said {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

/// Calls `function`, whose value is an exit code, with both streams of this process in files.
Said Listen(const std::function<int()>& function);

/// The same with standard output in an open file.
Said ListenBeside(int output, const std::function<int()>& function);

/// Parses the words with all commands, as main does, and runs the one that they name.
Said RunCommand(std::vector<std::string> words, const cccl_cache::cli::CommonOptions& common = {});

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

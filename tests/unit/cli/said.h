// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/terminal/command.h"

/// The exit code and the output of a command, or of a part of one.
struct Said {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

/// Runs `function`, which returns an exit code, with standard output and error captured.
Said Listen(const std::function<int()>& function);

/// Like Listen, but standard output goes to the open file `output`.
Said ListenBeside(int output, const std::function<int()>& function);

/// Parses the words with all commands, as main does, and runs the selected command.
Said RunCommand(std::vector<std::string> words, const cccl_cache::cli::CommonOptions& common = {});

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

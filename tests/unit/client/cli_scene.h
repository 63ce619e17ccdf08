// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/unit/client/cli_process.h"
#include "tests/unit/client/stand_in_daemon.h"

using Words = std::vector<std::string>;

/// The command line in a new directory, with a daemon that gives these answers.
struct CliScene {
  explicit CliScene(StandInAnswers answers) : daemon(directory / "socket", std::move(answers)) {}

  CliResult Run(Words words, const std::string& input = "",
                const std::vector<std::pair<std::string, std::string>>& environment = {}) const {
    words.insert(words.begin(), {"--socket", daemon.socket()});
    return RunCli(words, directory.path(), input, environment);
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  StandInDaemon daemon;
};

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

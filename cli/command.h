// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/json.h"
#include "cccl_cache/client.h"
#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// What scripts rely on; design and meaning in docs/guide-shell.md.
enum ExitCode : int {
  kDone = 0,
  kDoesNotCompile = 1,
  kNotReady = 1,  ///< of health --ready
  kUsage = 2,
  kNoDaemon = 3,
  kRefused = 4,
  kOther = 5,
};

/// Options that stand before or after the command.
struct CommonOptions {
  std::string socket;
  bool json = false;
  /// `explain -- build ...`: the command is asked about, not run.
  bool explain = false;
};

/// Each adds its command; when that is the one on the command line, `*exit_code` becomes what it
/// ended with. `common` must outlive `app`.
void AddBuildCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddLinkCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddNvvmCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddExplainCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddStatsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddToolchainsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddDepositsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddSnapshotCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddHealthCommand(CLI::App* app, const CommonOptions& common, int* exit_code);

/// "cccl-cache-cli: MESSAGE" on stderr.
void Complain(const std::string& message);
/// Says what went wrong, on stderr and with --json as an object on stdout as well; returns the exit
/// code that belongs to it.
int Fail(const Error& error, const CommonOptions& common);
/// The same of a command line that asks for nothing that can be done; returns kUsage.
int FailUsage(const std::string& message, const CommonOptions& common);
/// All of it to stdout; not kDone if that fails.
int Print(std::string_view text);

/// The key "error" of the object that --json prints: what went wrong, for scripts.
void WriteError(const Error& error, JsonWriter* json);

/// What is wrong with a command line that `app` did not take, and the way out: names the word that
/// nobody knows and the known one that it resembles.
[[nodiscard]] std::string DescribeMisuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace cccl_cache::cli

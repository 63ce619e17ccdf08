// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cccl_cache/client.h"
#include "cccl_cache/expected.h"
#include "cli/terminal/style.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace cccl_cache::cli {

/// Exit codes, on which scripts rely. docs/guide-shell.md explains them.
enum ExitCode : int {
  kDone = 0,
  kDoesNotCompile = 1,
  kNotReady = 1,     ///< of `health --ready`
  kCheckFailed = 1,  ///< of `doctor` and `verify`
  kUsage = 2,
  kNoDaemon = 3,
  kRefused = 4,
  kOther = 5,
};

/// Options of the program itself, which may be before or after the command.
struct CommonOptions {
  std::string socket;
  bool json = false;
  /// Whether the command line is `explain -- build ...` (or link or nvvm). Then the command does
  /// not compile, but explains why it would.
  bool explain = false;
  /// Whether AddWhenParsed() adds the options of all commands, for code that reads the whole
  /// command tree (help, completions and man pages).
  bool all_options = false;
  /// The program that `run` starts, and its arguments.
  std::vector<std::string> program;
};

/// Each function below adds one command to `app`. When the command runs, it reads `common` and sets
/// `*exit_code`. Both must outlive `app`.
void AddBuildCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddLinkCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddNvvmCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddExplainCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddStatsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddMetricsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddTopCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddToolchainsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddDepositsCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddSnapshotCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddRemoteCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddEvictCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddVerifyCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddRunCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddEnvCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddCdiCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddHealthCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddDoctorCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddHelpCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddCompletionCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
// The functions below add subcommands to the commands `remote` and `snapshot`.
void AddKeyCommands(CLI::App* remote, const CommonOptions& common, int* exit_code);
void AddSignCommand(CLI::App* snapshot, const CommonOptions& common, int* exit_code);

/// Calls `add`, which adds the options and subcommands of `command`. The call happens when the
/// command line names the command, or at once if common.all_options. Adding the options of all
/// commands would take a large part of the time of a cached build.
void AddWhenParsed(CLI::App* command, const CommonOptions& common, std::function<void()> add);

/// Joins the words, with `between` between them. This is faster than CLI11's function, which
/// matters for a cached build.
[[nodiscard]] std::string Joined(const std::vector<std::string>& words, std::string_view between);

/// Returns the text in single quotes, for POSIX shells and zsh.
[[nodiscard]] std::string ShellQuoted(const std::string& text);

/// Makes the option accept only these values. --help, completions and man pages list them.
void AcceptOnly(CLI::Option* option, const std::vector<std::string>& choices);

/// Prints "cccl-cache-cli: MESSAGE" to standard error. The prefix is red for an error and yellow
/// for advice.
void Complain(const std::string& message, Role role = Role::kBad);
/// Prints the error to standard error and, with --json, as an object to standard output. Returns
/// the exit code for the error.
int Fail(const Error& error, const CommonOptions& common);
/// Returns an error message if `given` is neither a key (64 hexadecimal digits) nor at least its
/// first 8 digits. Returns "" if it is.
[[nodiscard]] std::string WrongKey(const std::string& given);

/// Reports that the command line is invalid, in the same way as Fail(). Returns kUsage.
int FailUsage(const std::string& message, const CommonOptions& common);
/// Writes the whole text to standard output. Returns kDone, or another exit code if that fails.
int Print(std::string_view text);

/// Begins the object that --json prints. Its first key is the version of the format, which is
/// increased when a key is removed or its meaning changes. docs/json.schema.json describes the
/// format.
[[nodiscard]] JsonWriter BeginAnswer();

/// Writes the key "error" with the error's status and message into the object that --json prints.
void WriteError(const Error& error, JsonWriter* json);

/// Returns the message that `command` has no subcommand named `word`. It also names the most
/// similar subcommand.
[[nodiscard]] std::string DescribeUnknown(const CLI::App& command, const std::string& word);

/// Returns the message for a command line that `app` rejected with `error`. It contains the remedy,
/// and for an unknown word the most similar known one.
[[nodiscard]] std::string DescribeMisuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace cccl_cache::cli

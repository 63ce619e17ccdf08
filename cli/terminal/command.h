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

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace cccl_cache::cli {

/// Exit codes that scripts rely on; docs/guide-shell.md explains them.
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

/// Options before or after the command.
struct CommonOptions {
  std::string socket;
  bool json = false;
  /// `explain -- build ...`: explains the command instead of running it.
  bool explain = false;
  /// Adds the options of every command, for code that reads the tree of commands (AddWhenParsed).
  bool all_options = false;
  /// The program of `run`, with its arguments.
  std::vector<std::string> program;
};

/// Each function adds its command, which sets `*exit_code` when it runs. `common` must outlive
/// `app`.
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
void AddHealthCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddDoctorCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddHelpCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
void AddCompletionCommand(CLI::App* app, const CommonOptions& common, int* exit_code);
// Commands below `remote` and `snapshot`.
void AddKeyCommands(CLI::App* remote, const CommonOptions& common, int* exit_code);
void AddSignCommand(CLI::App* snapshot, const CommonOptions& common, int* exit_code);

/// Calls `add`, which adds the command's options and subcommands, if the command is on the command
/// line, or if common.all_options. Adding those of all commands would take a large part of the time
/// of a hit.
void AddWhenParsed(CLI::App* command, const CommonOptions& common, std::function<void()> add);

/// Joins the words. Faster than CLI11's own function, which matters for a hit.
[[nodiscard]] std::string Joined(const std::vector<std::string>& words, std::string_view between);

/// Returns the text in single quotes, for POSIX shells and zsh.
[[nodiscard]] std::string ShellQuoted(const std::string& text);

/// Restricts the option to these values, and shows them in --help, completions and man pages.
void AcceptOnly(CLI::Option* option, const std::vector<std::string>& choices);

/// Values of ECMA-48, "select graphic rendition".
enum class Colour { kDim = 2, kRed = 31, kGreen = 32, kYellow = 33 };
/// Returns whether a descriptor is a terminal and may have colours (https://no-color.org).
[[nodiscard]] bool WantsColour(int descriptor);
/// Returns the text in this colour if `wanted`, else unchanged.
[[nodiscard]] std::string Painted(std::string_view text, Colour colour, bool wanted);

/// Prints "cccl-cache-cli: MESSAGE" to stderr: in red for an error, in yellow for advice.
void Complain(const std::string& message, Colour colour = Colour::kRed);
/// Reports the error on stderr, with --json also as an object on stdout; returns its exit code.
int Fail(const Error& error, const CommonOptions& common);
/// Returns why `given` is neither a key nor the first digits of one; "" if it is.
[[nodiscard]] std::string WrongKey(const std::string& given);

/// Reports an invalid command line like Fail; returns kUsage.
int FailUsage(const std::string& message, const CommonOptions& common);
/// Writes all of the text to stdout; returns an exit code other than kDone if that fails.
int Print(std::string_view text);

/// Begins the object that --json prints with the version of its format, which changes when a key is
/// removed or changes its meaning. docs/json.schema.json describes the format.
[[nodiscard]] JsonWriter BeginAnswer();

/// Writes the key "error" of the object that --json prints, for scripts.
void WriteError(const Error& error, JsonWriter* json);

/// Returns the message that `command` has no subcommand of this name, with the most similar one.
[[nodiscard]] std::string DescribeUnknown(const CLI::App& command, const std::string& word);

/// Returns why `app` rejected the command line, and the remedy. Names the unknown word and the most
/// similar known one.
[[nodiscard]] std::string DescribeMisuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace cccl_cache::cli

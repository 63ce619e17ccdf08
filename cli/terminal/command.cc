// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/files/whole_file.h"
#include "base/text.h"
#include "cli/terminal/command_tree.h"

namespace cccl_cache::cli {
namespace {

ExitCode ExitCodeOf(cccl_cache_status status) {
  switch (status) {
    case CCCL_CACHE_NO_DAEMON:
      return kNoDaemon;
    case CCCL_CACHE_INVALID_REQUEST:
    case CCCL_CACHE_TOOLCHAIN_NOT_FOUND:
    case CCCL_CACHE_FILES_NEEDED:
    case CCCL_CACHE_DENIED:
    case CCCL_CACHE_OVERLOADED:
    case CCCL_CACHE_TOO_LARGE:
      return kRefused;
    default:
      return kOther;
  }
}

using Words = std::vector<std::string>;

/// Returns the innermost subcommand on the command line, or `app` if there is none.
const CLI::App& Reached(const CLI::App& app) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  return named.empty() ? app : Reached(*named.front());
}

Words CommandNames(const CLI::App& command) {
  Words names;
  for (const CLI::App* each : CommandsOf(command)) names.push_back(each->get_name());
  return names;
}

Words LongOptions(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : OptionsOf(command)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool Compiles(const CLI::App& command) {
  const Words options = LongOptions(command);
  return std::find(options.begin(), options.end(), "--option") != options.end();
}

bool WantsCommand(const CLI::App& command) {
  return command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
}

std::string UnknownOption(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string near = DidYouMean(name, LongOptions(command));
  std::string text = command.get_name() + " knows no option " + name + near;
  if (!Compiles(command)) return text;
  return text + (near.empty() ? "; " : " ") + "one for the compiler is written --option=" + word;
}

std::string UnknownCommand(const CLI::App& command, const std::string& word) {
  const Words names = CommandNames(command);
  const std::string near = DidYouMean(word, names);
  const std::string those = names.empty() ? "" : "; there are " + Joined(names, ", ");
  const bool top = command.get_parent() == nullptr;
  return (top ? "" : command.get_name() + ": ") + "no command is called " + word +
         (near.empty() ? those : near);
}

/// Returns the option whose name is between the texts `before` and `after` at the start of CLI11's
/// message. Returns null if there is no such option.
const CLI::Option* OptionNamed(const CLI::App& command, const std::string& message,
                               const std::string& before, const std::string& after) {
  for (const CLI::Option* option : OptionsOf(command)) {
    if (message.starts_with(before + option->get_name() + after)) return option;
  }
  return nullptr;
}

/// Returns CLI11's message about an option's value, in words that users understand.
std::string WrongValue(const CLI::App& command, const std::string& message) {
  if (const auto* option = OptionNamed(command, message, "", ": ")) {
    if (option->count() > 1) return option->get_name() + ": give it once";
    return option->get_name() + ": needs a value (" + option->get_type_name() + ")";
  }
  if (const auto* option = OptionNamed(command, message, "Could not convert: ", " = ")) {
    if (!TakesValue(*option)) return option->get_name() + ": takes no value";
    const std::string given = message.substr(message.find(" = ") + 3);
    return option->get_name() + ": \"" + given + "\" is not a whole number, or out of range";
  }
  return message;
}

std::string SeeHelp(const CLI::App& command) { return " (" + FullName(command) + " --help)"; }

}  // namespace

void AddWhenParsed(CLI::App* command, const CommonOptions& common, std::function<void()> add) {
  if (common.all_options) return add();
  command->preparse_callback([add = std::move(add)](size_t) { add(); });
}

std::string Joined(const std::vector<std::string>& words, std::string_view between) {
  std::string joined;
  for (const std::string& word : words) {
    if (&word != &words.front()) joined += between;
    joined += word;
  }
  return joined;
}

std::string ShellQuoted(const std::string& text) {
  return "'" + CLI::detail::find_and_replace(text, "'", "'\\''") + "'";
}

void Complain(const std::string& message, Role role) {
  const std::string line = Painted("cccl-cache-cli:", role, WantsColour(STDERR_FILENO)) + " " +
                           Printable(message) + "\n";
  // A write error is ignored, because an error message could not be printed either.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

int Fail(const Error& error, const CommonOptions& common) {
  std::string message = error.message;
  if (error.retry_after_ms > 0) {
    message += "; come back in " + std::to_string(error.retry_after_ms) + " ms";
  }
  Complain(message);
  if (common.json) {
    JsonWriter json = BeginAnswer();
    WriteError(error, &json);
    Print(json.EndObject().Finish());
  }
  return ExitCodeOf(error.status);
}

int FailUsage(const std::string& message, const CommonOptions& common) {
  Fail(Error{CCCL_CACHE_INVALID_REQUEST, message}, common);
  return kUsage;
}

std::string WrongKey(const std::string& given) {
  constexpr size_t kDigits = 64;
  constexpr size_t kMinDigits = 8;
  if (given.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return "\"" + given + "\" is no key, which is " + std::to_string(kDigits) +
           " digits of 0-9 and a-f";
  }
  if (given.size() >= kMinDigits && given.size() <= kDigits) return "";
  return "\"" + given + "\" has " + std::to_string(given.size()) + " of a key's " +
         std::to_string(kDigits) + " digits: give the first " + std::to_string(kMinDigits) +
         " or more";
}

int Print(std::string_view text) {
  if (WriteAll(STDOUT_FILENO, text)) return kDone;
  Complain(std::string("can't write to standard output: ") + std::strerror(errno));
  return kOther;
}

JsonWriter BeginAnswer() {
  JsonWriter json;
  json.BeginObject().Key("format_version").Integer(1);
  return json;
}

void WriteError(const Error& error, JsonWriter* json) {
  json->Key("error").BeginObject();
  json->Key("status").String(cccl_cache_status_name(error.status));
  json->Key("message").String(error.message);
  if (error.retry_after_ms > 0) json->Key("retry_ms").Integer(error.retry_after_ms);
  json->EndObject();
}

std::string DescribeUnknown(const CLI::App& command, const std::string& word) {
  return UnknownCommand(command, word) + SeeHelp(command);
}

std::string DescribeMisuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = Reached(app);
  const Words strange = app.remaining(/*recurse=*/true);
  const std::string word = strange.empty() ? "" : strange.front();
  std::string text = error.what();
  if (error.get_name() == "ValidationError") {
    // CLI11's message is sufficient: it names the value and its option.
  } else if (error.get_name() == "ArgumentMismatch" || error.get_name() == "ConversionError") {
    text = WrongValue(command, text);
  } else if (word.size() > 1 && word.starts_with('-')) {
    text = UnknownOption(command, word);
  } else if (!word.empty() && WantsCommand(command)) {
    text = UnknownCommand(command, word);
  } else if (!word.empty()) {
    const std::vector<const CLI::Option*> arguments = ArgumentsOf(command);
    text = command.get_name() + " takes no argument " + word + " here";
    if (Compiles(command) && arguments.size() == 1 && arguments[0]->count() > 0) {
      text += ": it compiles one " + arguments[0]->get_name() + ", so run it for each";
    }
  } else if (WantsCommand(command)) {
    text = "name a command: " + Joined(CommandNames(command), ", ");
  }
  return text + SeeHelp(command);
}

}  // namespace cccl_cache::cli

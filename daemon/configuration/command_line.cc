// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace cccl_cache::daemon {
namespace {

constexpr const char* kDescription =
    "cccl-cached: one compile cache for every CUDA program of a node.\n"
    "Runs in the foreground. SIGTERM stops it. SIGHUP rereads the log level and the trusted keys,\n"
    "and searches for toolchains again. Each setting is also a key of the configuration file\n"
    "(socket_mode) and an environment variable (CCCL_CACHED_SOCKET_MODE). Flags override the\n"
    "environment, which overrides the file.";
constexpr const char* kFooter =
    "Exit codes: 0 stopped, 2 wrong configuration, 3 state directory or socket not available,\n"
    "4 stopped before all had ended: after 20 s, or at a second signal.\n"
    "Environment: CCCL_CACHED_SOCKET_MODE sets --socket-mode, and so on for each other flag.\n"
    "Files: /etc/cccl-cached/config.toml configures root's and the service's daemon.\n"
    "Files: ~/.config/cccl-cached/config.toml configures a user's.\n"
    "Files: /var/lib/cccl-cached holds the results of root's and the service's daemon.\n"
    "Files: ~/.local/state/cccl-cached holds those of a user's.\n"
    "Example: cccl-cached --socket /run/user/1000/cccl-cached/socket --store-limit 32GiB";

/// The headings of --help, each with the first setting under it. A heading may occur twice.
constexpr std::pair<std::string_view, const char*> kHeadings[] = {
    {"socket", "Connections"},     {"state_dir", "Directories"}, {"log_level", "Log"},
    {"jobs", "Compiles"},          {"memory_limit", "Cache"},    {"build_timeout", "Compiles"},
    {"pch_memory_limit", "Cache"}, {"queue_limit", "Limits"},    {"deposit_limit", "Deposits"},
    {"upload_limit", "Limits"},    {"remote_url", "Cluster"},
};

Error Bad(std::string message) { return Error{ErrorCode::kInvalidRequest, std::move(message)}; }

/// Makes the path absolute. An address such as "unix:..." stays unchanged, so that it is refused
/// later because it is not an absolute path.
std::string Absolute(const std::string& path) {
  if (path.starts_with("unix:")) return path;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

Error UnknownArgument(const std::string& argument) {
  std::vector<std::string> flags = {"--config", "--print-config", "--version", "--help"};
  for (const Setting& setting : Settings()) flags.push_back(setting.Flag());
  if (!argument.starts_with('-')) {
    return Bad(
        fmt::format("unknown argument {}: cccl-cached takes flags alone, and runs in the "
                    "foreground; systemctl start cccl-cached starts the service",
                    argument));
  }
  const std::string name = argument.substr(0, argument.find('='));
  return Bad(fmt::format("unknown argument {}{}", argument, DidYouMean(name, flags)));
}

/// Returns the error for an option without a value. That option is always the last argument,
/// because any other option takes the next argument as its value.
Error NoValue(const CLI::App& app, const std::string& last) {
  const std::string name = last.substr(0, last.find('='));
  const CLI::Option* option = app.get_option_no_throw(name);
  return Bad(fmt::format("{}: needs a value ({})", name,
                         option == nullptr ? "TEXT" : option->get_type_name()));
}

/// Returns the line of --help, with the default if there is one.
std::string HelpOf(const Setting& setting, const Configuration& defaults) {
  std::string value = setting.show(defaults);
  // ReadFlags() sets no number of processors, because the man page is not for a particular machine.
  if (setting.name == "jobs" && defaults.builds.slots == 0) value = "one per processor";
  if (value == "[]" || value == "\"\"") return std::string(setting.help);
  return fmt::format("{} (default: {})", setting.help, value);
}

/// Adds one CLI11 option per setting; texts[i] gets the values of Settings()[i].
void AddSettings(CLI::App& app, std::vector<std::vector<std::string>>& texts,
                 const Surroundings& surroundings) {
  const Configuration defaults = DefaultConfiguration(surroundings);
  const char* heading = "";
  for (size_t i = 0; i < texts.size(); ++i) {
    const Setting& setting = Settings()[i];
    for (const auto& [first, name] : kHeadings) heading = first == setting.name ? name : heading;
    CLI::Option* option = app.add_option(setting.Flag(), texts[i], HelpOf(setting, defaults));
    option->group(heading);
    option->type_name(std::string(setting.placeholder));
    option->expected(1);
    option->multi_option_policy(setting.list ? CLI::MultiOptionPolicy::TakeAll
                                             : CLI::MultiOptionPolicy::TakeLast);
    option->allow_extra_args(false);  // each occurrence of an option takes exactly one value
  }
}

std::vector<Assignment> Assignments(std::vector<std::vector<std::string>> texts) {
  std::vector<Assignment> assignments;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Setting& setting = Settings()[i];
    if (texts[i].empty()) continue;
    if (setting.path) std::transform(texts[i].begin(), texts[i].end(), texts[i].begin(), Absolute);
    assignments.push_back({&setting, std::move(texts[i]), "flag " + setting.Flag()});
  }
  return assignments;
}

/// The definition of all flags for CLI11, and the variables in which it stores their values.
struct Flags {
  explicit Flags(const Surroundings& surroundings) {
    app.footer(kFooter);
    app.allow_extras();
    AddSettings(app, texts, surroundings);
    config = app.add_option("--config", command_line.config_file, "configuration file");
    config->type_name("FILE")->take_last();
    app.add_flag("--print-config", command_line.print_config,
                 "print each value and its source, and exit");
    app.add_flag("--version", command_line.version, "print the version, and exit");
  }

  CommandLine command_line;
  std::vector<std::vector<std::string>> texts{Settings().size()};
  CLI::App app{kDescription, "cccl-cached"};
  CLI::Option* config = nullptr;
};

}  // namespace

Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments) {
  Flags flags(Surroundings::OfThisProcess());
  CommandLine& command_line = flags.command_line;
  const std::string last = arguments.empty() ? "" : arguments.back();
  // CLI11 reports errors by exceptions, which must not leave this function.
  try {
    std::reverse(arguments.begin(), arguments.end());
    flags.app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    command_line.help = CLI::detail::find_and_replace(flags.app.help(), "\n\n\n", "\n\n");
    return std::move(command_line);
  } catch (const CLI::ArgumentMismatch&) {
    return NoValue(flags.app, last);
  } catch (const CLI::ParseError& error) {
    return Bad(error.what());
  }
  if (const std::vector<std::string> extras = flags.app.remaining(); !extras.empty()) {
    return UnknownArgument(extras.front());
  }
  if (flags.config->count() > 0) command_line.config_file = Absolute(command_line.config_file);
  command_line.assignments = Assignments(std::move(flags.texts));
  return std::move(command_line);
}

void ReadFlags(const std::function<void(const CLI::App& app)>& read) {
  read(Flags(Surroundings{.processors = 0}).app);
}

}  // namespace cccl_cache::daemon

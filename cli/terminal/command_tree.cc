// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command_tree.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "cccl_cache/client.h"

namespace cccl_cache::cli {
namespace {

constexpr char kBetweenChoices = '|';

/// Writes a flag with an optional value as "--report[=each]", where CLI11 writes "--report{all}".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return name.substr(0, name.find(kDefaultOfFlag));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool flag = option->get_name(false, true).find(kDefaultOfFlag) != std::string::npos;
    return flag ? "[=" + option->get_type_name() + "]" : CLI::Formatter::make_option_opts(option);
  }

 private:
  static constexpr char kDefaultOfFlag = '{';
};

void AddCommonOptions(CLI::App* app, CommonOptions* common) {
  app->add_option(
      "--socket", common->socket,
      "Socket of the daemon (default: $CCCL_CACHE_SOCKET, else "
      "$XDG_RUNTIME_DIR/cccl-cached/socket or ~/.cccl-cached/socket-* of this boot if present, "
      "else /run/cccl-cached/socket)");
  app->add_flag("--json", common->json, "Print the result, or the error, as one JSON object");
  app->set_version_flag("--version", std::string("cccl-cache-cli ") + cccl_cache_version());
  // Options of the program itself are also accepted after the command's name.
  app->fallthrough();
  app->require_subcommand(1);
  app->footer(
      "Exit codes: 0 done, 1 the code does not compile, 2 usage, 3 no daemon, 4 refused, 5 any "
      "other error.\n"
      "Environment: CCCL_CACHE_SOCKET names the daemon's socket if --socket does not, "
      "CCCL_CACHE_PRIORITY the priority of builds if --priority does not.\n"
      "Example: cccl-cache-cli build kernel.cu --arch sm_90 -o kernel.cubin");
}

}  // namespace

std::unique_ptr<CLI::App> MakeCommandTree(CommonOptions* common, int* exit_code) {
  auto app = std::make_unique<CLI::App>(
      "Compiles CUDA code through cccl-cached, the compile cache of this machine.",
      "cccl-cache-cli");
  app->formatter(std::make_shared<HelpFormatter>());
  AddCommonOptions(app.get(), common);
  for (const auto add :
       {AddBuildCommand,  AddLinkCommand,       AddNvvmCommand,     AddRunCommand,
        AddEnvCommand,    AddExplainCommand,    AddStatsCommand,    AddMetricsCommand,
        AddTopCommand,    AddToolchainsCommand, AddDepositsCommand, AddSnapshotCommand,
        AddRemoteCommand, AddEvictCommand,      AddVerifyCommand,   AddCdiCommand,
        AddHealthCommand, AddDoctorCommand,     AddHelpCommand,     AddCompletionCommand}) {
    add(app.get(), *common, exit_code);
  }
  for (CLI::App* command : app->get_subcommands([](CLI::App*) { return true; })) {
    command->footer(command->get_footer() +
                    "\nEvery command takes --socket and --json, too: see cccl-cache-cli --help.");
  }
  return app;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::App*> WholeTree(const CLI::App& command) {
  std::vector<const CLI::App*> all = {&command};
  for (const CLI::App* each : CommandsOf(command)) {
    const std::vector<const CLI::App*> below = WholeTree(*each);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string FullName(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : FullName(*parent) + " ") + command.get_name();
}

std::string PathOf(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return "";
  const std::string above = PathOf(*parent);
  return above + (above.empty() ? "" : " ") + command.get_name();
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      const bool help_of_another = app != &command && option == app->get_help_ptr();
      if (option->nonpositional() && !help_of_another) options.push_back(option);
    }
  }
  return options;
}

std::vector<const CLI::Option*> ArgumentsOf(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

void AcceptOnly(CLI::Option* option, const std::vector<std::string>& choices) {
  option->type_name(Joined(choices, std::string_view(&kBetweenChoices, 1)));
  option->check([choices](const std::string& given) {
    const bool known = std::find(choices.begin(), choices.end(), given) != choices.end();
    return known ? "" : "\"" + given + "\" is not one of " + Joined(choices, ", ");
  });
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find(kBetweenChoices) == std::string::npos) return {};
  return CLI::detail::split(type, kBetweenChoices);
}

}  // namespace cccl_cache::cli

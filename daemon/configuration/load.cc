// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/load.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "base/files/whole_file.h"
#include "base/text.h"
#include "daemon/configuration/configuration.h"
#include "daemon/configuration/settings.h"
#include "daemon/system/own_directory.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kPrefix = "CCCL_CACHED_";
constexpr std::string_view kConfigVariable = "CCCL_CACHED_CONFIG";

Error Bad(std::string message) { return Error{ErrorCode::kInvalidRequest, std::move(message)}; }

/// Splits the value of an environment variable at colons. Empty parts are left out.
std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(':'));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return parts;
}

Result<std::vector<Assignment>> ReadEnvironment(const Surroundings& surroundings) {
  std::map<std::string, const Setting*, std::less<>> known;
  std::vector<std::string> names{std::string(kConfigVariable)};
  for (const Setting& setting : Settings()) {
    known.emplace(setting.Variable(), &setting);
    names.push_back(setting.Variable());
  }
  std::vector<Assignment> assignments;
  for (const auto& [name, value] : surroundings.environment) {
    if (!name.starts_with(kPrefix) || name == kConfigVariable) continue;
    const auto found = known.find(name);
    if (found == known.end()) {
      return Bad(
          fmt::format("unknown variable {} in the environment{}", name, DidYouMean(name, names)));
    }
    const Setting& setting = *found->second;
    std::vector<std::string> texts =
        setting.list ? SplitList(value) : std::vector<std::string>{value};
    assignments.push_back({&setting, std::move(texts), "environment " + name});
  }
  return assignments;
}

/// Returns the path of the configuration file, or "" if there is none. A file that the user has
/// named is returned even if it does not exist. The default file is not.
std::string FileOf(const CommandLine& command_line, const Surroundings& surroundings) {
  if (!command_line.config_file.empty()) return command_line.config_file;
  if (std::string named = surroundings.Variable(kConfigVariable); !named.empty()) return named;
  std::string path = DefaultConfigFile(surroundings);
  if (!path.empty() && access(path.c_str(), F_OK) != 0) path.clear();
  return path;
}

/// Sets the values in `loaded`. An error begins with the flag, the environment variable, or the
/// line of the file and the setting there.
Status Apply(const std::vector<Assignment>& assignments, bool of_file,
             LoadedConfiguration& loaded) {
  for (const Assignment& assignment : assignments) {
    const Setting& setting = *assignment.setting;
    if (Status status = setting.set(loaded.values, assignment.texts); !status) {
      const std::string name = of_file ? fmt::format("{}: ", setting.name) : "";
      return Bad(fmt::format("{}: {}{}", assignment.origin, name, status.error().message));
    }
    loaded.origins[setting.name] = assignment.origin;
  }
  return Ok{};
}

Result<std::string> ReadText(const std::string& path) {
  std::optional<std::string> text = ReadFileAt(path);
  if (!text) return Bad(fmt::format("{}: can't be read: {}", path, std::strerror(errno)));
  return *std::move(text);
}

/// Returns an addition to toml++'s message, if line `number` has a number with a unit but without
/// quotes. Otherwise "".
std::string QuotesHint(const std::string& text, size_t number) {
  std::istringstream lines(text);
  std::string line;
  for (size_t i = 0; i < number; ++i) std::getline(lines, line);
  std::istringstream words(line.replace(std::min(line.find('='), line.size()), 1, " "));
  std::string name;
  std::string value;
  words >> name >> value;
  const Setting* setting = FindSetting(name);
  if (setting == nullptr || setting->bare || value.find_first_of("0123456789") != 0) return {};
  return fmt::format("; write sizes and times in quotes: {} = {}", name,
                     setting->show(Configuration()));
}

Result<toml::table> Parse(const std::string& text, const std::string& path) {
  // toml++ reports errors by an exception, which must not leave this function.
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const size_t line = error.source().begin.line;
    return Bad(fmt::format("{}:{}: {}{}", path, line, error.description(), QuotesHint(text, line)));
  }
}

std::string KnownKeys(std::string_view key) {
  std::vector<std::string> names;
  for (const Setting& setting : Settings()) names.emplace_back(setting.name);
  return DidYouMean(key, names);
}

std::string Expected(const Setting& setting) {
  const char* one = setting.bare ? "a number" : "a string in quotes";
  return setting.list ? fmt::format("{}, or an array of them", one) : one;
}

/// Returns the value as text, or none if the type of the TOML value does not fit the setting.
std::optional<std::string> OneText(const toml::node& node, const Setting& setting) {
  if (setting.bare) {
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    return std::nullopt;
  }
  if (const auto* text = node.as_string()) return text->get();
  return std::nullopt;
}

Result<Assignment> Read(const Setting& setting, const toml::node& node, std::string origin) {
  Assignment assignment{&setting, {}, std::move(origin)};
  const toml::array* array = setting.list ? node.as_array() : nullptr;
  const Error mismatch =
      Bad(fmt::format("{}: {}: write {}", assignment.origin, setting.name, Expected(setting)));
  if (array == nullptr) {
    std::optional<std::string> text = OneText(node, setting);
    if (!text) return mismatch;
    assignment.texts.push_back(*std::move(text));
    return assignment;
  }
  for (const toml::node& element : *array) {
    std::optional<std::string> text = OneText(element, setting);
    if (!text) return mismatch;
    assignment.texts.push_back(*std::move(text));
  }
  return assignment;
}

}  // namespace

Result<LoadedConfiguration> LoadConfiguration(const CommandLine& command_line,
                                              const Surroundings& surroundings) {
  LoadedConfiguration loaded{
      DefaultConfiguration(surroundings), {}, FileOf(command_line, surroundings)};
  if (!loaded.file.empty() && access(loaded.file.c_str(), F_OK) == 0) {
    const Status own = CheckOwnFile(loaded.file, "configure this daemon");
    if (!own) return Bad(own.error().message);
  }
  const Result<std::vector<Assignment>> file =
      loaded.file.empty() ? std::vector<Assignment>() : ReadTomlFile(loaded.file);
  if (!file) return file.error();
  const Result<std::vector<Assignment>> environment = ReadEnvironment(surroundings);
  if (!environment) return environment.error();
  for (const auto* assignments : {&*file, &*environment, &command_line.assignments}) {
    const bool of_file = assignments == &*file;
    if (Status status = Apply(*assignments, of_file, loaded); !status) return status.error();
  }
  return loaded;
}

Status CheckComplete(const LoadedConfiguration& loaded, const Surroundings& surroundings) {
  const bool handed_over = !surroundings.Variable("LISTEN_FDS").empty();
  if (loaded.values.socket.empty() && !handed_over) {
    return Bad(
        "no socket: neither XDG_RUNTIME_DIR nor HOME is set, so there is no private directory for "
        "one; give --socket PATH in a directory that only you can write");
  }
  if (loaded.values.state_dir.empty()) {
    return Bad("no state directory: neither XDG_STATE_HOME nor HOME is set; give --state-dir DIR");
  }
  return Ok{};
}

std::string PrintConfiguration(const LoadedConfiguration& loaded) {
  std::string text;
  for (const Setting& setting : Settings()) {
    const auto origin = loaded.origins.find(setting.name);
    text += fmt::format("{} = {}  # {}\n", setting.name, setting.show(loaded.values),
                        origin == loaded.origins.end() ? "default" : origin->second);
  }
  return text;
}

Result<std::vector<Assignment>> ReadTomlFile(const std::string& path) {
  const Result<std::string> text = ReadText(path);
  if (!text) return text.error();
  const Result<toml::table> table = Parse(*text, path);
  if (!table) return table.error();
  std::vector<Assignment> assignments;
  for (const auto& [key, node] : *table) {
    std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
    const Setting* setting = FindSetting(key.str());
    if (setting == nullptr) {
      return Bad(fmt::format("{}: unknown key {}{}", origin, key.str(), KnownKeys(key.str())));
    }
    Result<Assignment> assignment = Read(*setting, node, std::move(origin));
    if (!assignment) return assignment.error();
    assignments.push_back(*std::move(assignment));
  }
  return assignments;
}

}  // namespace cccl_cache::daemon

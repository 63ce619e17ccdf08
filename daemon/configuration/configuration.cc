// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/configuration.h"

#include <sched.h>
#include <unistd.h>

#include <string_view>

#include "base/files/own_path.h"

namespace cccl_cache::daemon {
namespace {

/// Returns the value of the variable if it is an absolute path, else "". The XDG base directory
/// specification says that relative paths must be ignored.
std::string AbsoluteVariable(const Surroundings& surroundings, std::string_view name) {
  std::string value = surroundings.Variable(name);
  return value.starts_with('/') ? value : std::string();
}

/// Returns the first directory in a variable that systemd has set. It separates several ones by
/// colons.
std::string DirectoryFromSystemd(const Surroundings& surroundings, std::string_view name) {
  const std::string list = AbsoluteVariable(surroundings, name);
  return list.substr(0, list.find(':'));
}

/// Returns whether the daemon runs as root or as the system service. For the service, systemd sets
/// STATE_DIRECTORY but not XDG_RUNTIME_DIR.
bool ServesTheNode(const Surroundings& surroundings) {
  if (surroundings.uid == 0) return true;
  return !DirectoryFromSystemd(surroundings, "STATE_DIRECTORY").empty() &&
         surroundings.Variable("XDG_RUNTIME_DIR").empty();
}

/// Returns the path `name` in a user's directory, or "" if that directory is not known.
std::string OfUser(const Surroundings& surroundings, std::string_view variable,
                   std::string_view below_home, std::string_view name) {
  const std::string directory =
      UserDirectory(surroundings.Variable(variable), surroundings.Variable("HOME"), below_home);
  return directory.empty() ? directory : directory + std::string(name);
}

std::string DefaultSocket(const Surroundings& surroundings) {
  const std::string made = DirectoryFromSystemd(surroundings, "RUNTIME_DIRECTORY");
  if (!made.empty()) return made + "/socket";
  if (ServesTheNode(surroundings)) return kSystemSocket;
  const std::vector<std::string> users =
      UsersSockets(surroundings.Variable("XDG_RUNTIME_DIR"), surroundings.Variable("HOME"));
  return users.empty() ? std::string() : users.front();
}

std::string DefaultStateDirectory(const Surroundings& surroundings) {
  const std::string made = DirectoryFromSystemd(surroundings, "STATE_DIRECTORY");
  if (!made.empty()) return made;
  if (surroundings.uid == 0) return "/var/lib/cccl-cached";
  return OfUser(surroundings, "XDG_STATE_HOME", "/.local/state", "/cccl-cached");
}

}  // namespace

Surroundings Surroundings::OfThisProcess() {
  Surroundings surroundings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    surroundings.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  surroundings.uid = geteuid();
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    surroundings.processors = static_cast<uint64_t>(CPU_COUNT(&allowed));
  } else if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0) {
    surroundings.processors = static_cast<uint64_t>(online);
  }
  return surroundings;
}

Configuration DefaultConfiguration(const Surroundings& surroundings) {
  Configuration configuration;
  configuration.socket = DefaultSocket(surroundings);
  configuration.state_dir = DefaultStateDirectory(surroundings);
  configuration.socket_mode = ServesTheNode(surroundings) ? 0666 : 0600;
  configuration.builds.slots = surroundings.processors;
  return configuration;
}

std::string DefaultConfigFile(const Surroundings& surroundings) {
  const std::string made = DirectoryFromSystemd(surroundings, "CONFIGURATION_DIRECTORY");
  if (!made.empty()) return made + "/config.toml";
  if (ServesTheNode(surroundings)) return surroundings.system_config_file;
  return OfUser(surroundings, "XDG_CONFIG_HOME", "/.config", "/cccl-cached/config.toml");
}

}  // namespace cccl_cache::daemon

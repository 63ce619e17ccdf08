// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/files/own_path.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/run/environment.h"
#include "cli/terminal/command.h"
#include "cli/terminal/files.h"

namespace cccl_cache::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKind = "cccl-cached/cache";
/// The directory of the stand-ins in the container. The socket is in that of a machine's daemon,
/// where clients look.
constexpr const char* kStandInPlace = "/opt/cccl-cache-client";

struct CdiOptions {
  std::string container_socket = "/run/cccl-cached-containers/socket";
  std::string output = "-";
};

void AddMount(const fs::path& of_node, const std::string& in_container, JsonWriter* json) {
  json->BeginObject().Fields("hostPath", of_node.string(), "containerPath", in_container);
  json->Key("options").BeginArray();
  for (const char* option : {"ro", "nosuid", "nodev", "bind"}) json->String(option);
  json->EndArray().EndObject();
}

void AddDevice(const std::string& name, const Variables& variables, JsonWriter* json) {
  json->BeginObject().Fields("name", name).Key("containerEdits").BeginObject();
  json->Key("env").BeginArray();
  for (const auto& [variable, value] : variables) json->String(variable + "=" + value);
  json->EndArray().EndObject().EndObject();
}

/// Returns the specification of the Container Device Interface. Both devices bring the socket and
/// the stand-ins; `node` also turns them on. Each directory is mounted, and not the files in it:
/// then a container sees the socket of a restarted daemon and the files of an upgrade.
std::string Specification(const fs::path& socket, const fs::path& standins) {
  JsonWriter json;
  json.BeginObject().Fields("cdiVersion", "0.3.0", "kind", kKind);
  json.Key("containerEdits").BeginObject().Key("mounts").BeginArray();
  const fs::path place = fs::path(kSystemSocket).parent_path();
  AddMount(socket.parent_path(), place.string(), &json);
  AddMount(standins, kStandInPlace, &json);
  json.EndArray().EndObject();
  // In a user namespace the owner of the directory may be unknown, and clients trust the socket
  // only if it is named explicitly.
  Variables variables = {{"CCCL_CACHE_SOCKET", (place / socket.filename()).string()}};
  json.Key("devices").BeginArray();
  AddDevice("client", variables, &json);
  for (const auto& each : ContainerEnvironment(kStandInPlace)) variables.push_back(each);
  AddDevice("node", variables, &json);
  return json.EndArray().EndObject().Finish();
}

/// Returns the path of a file beside the socket, or "" if there is none. A daemon that binds its
/// socket adds its pid to the name for a moment.
std::string FileBeside(const fs::path& socket) {
  const std::string own = socket.filename();
  std::error_code error;
  for (fs::directory_iterator each(socket.parent_path(), error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename();
    const bool bound = name.starts_with(own + ".") &&
                       name.find_first_not_of("0123456789", own.size() + 1) == std::string::npos;
    if (name != own && !bound) return each->path();
  }
  return "";
}

Error Unfit(std::string why) { return {CCCL_CACHE_UNAVAILABLE, std::move(why)}; }

/// Returns the socket with the links of its directory followed. Fails if containers must not have
/// that directory, or can't have it.
Expected<fs::path> SocketForContainers(const std::string& named) {
  std::error_code error;
  const fs::path path = fs::absolute(named, error).lexically_normal();
  // Other users could otherwise replace the directory by a link to any one of the host. The daemon
  // has the same rule.
  constexpr OwnDirectoryRules kRules = {.given_away = true};
  const FollowedDirectory directory = OwnDirectory(path.parent_path().native(), kRules);
  const fs::path of_node = fs::path(kSystemSocket).parent_path();
  if (directory.refusal.empty() && directory.path == OwnDirectory(of_node.native(), kRules).path) {
    return Unfit(path.string() +
                 " is in the directory of the node's own socket, where root of a container counts "
                 "as root of the node: set container_socket, and name that one");
  }
  if (!fs::is_directory(path.parent_path(), error)) {
    return Unfit(path.parent_path().string() +
                 " is not there, so no container could start with it: begin with systemctl enable "
                 "--now cccl-cached-containers.socket, or name another socket by "
                 "--container-socket");
  }
  if (!directory.refusal.empty()) return Unfit(directory.refusal);
  if (fs::is_directory(path, error)) {
    return Unfit(path.string() + " is a directory: name the socket in it");
  }
  const fs::path socket = fs::path(directory.path) / path.filename();
  if (const std::string beside = FileBeside(socket); !beside.empty()) {
    return Unfit("each container with the device would see " + beside +
                 ": give the socket for containers a directory of its own");
  }
  return socket;
}

int Run(const CommonOptions& common, const CdiOptions& options) {
  const Expected<fs::path> socket = SocketForContainers(options.container_socket);
  if (!socket.ok()) return Fail(socket.error(), common);
  const Expected<fs::path> standins = InstalledStandIns();
  if (!standins.ok()) return Fail(standins.error(), common);
  for (const fs::path& each : {*socket, *standins}) {
    if (Printable(each.native()) == each.native()) continue;
    return Fail(Unfit("a specification can't hold the path " + each.string()), common);
  }
  const std::string text = Specification(*socket, *standins);
  if (options.output == "-") return Print(text);
  const Expected<Done> written = WriteSharedFile(options.output, text);
  return written.ok() ? kDone : Fail(written.error(), common);
}

}  // namespace

void AddCdiCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "cdi", "Print the specification with which container engines offer the cache as a device");
  command->group("Daemon");
  const auto options = std::make_shared<CdiOptions>();
  AddWhenParsed(command, common, [command, options] {
    command
        ->add_option("--container-socket", options->container_socket,
                     "The daemon's socket for containers, in a directory of its own (default: " +
                         options->container_socket + ")")
        ->type_name("PATH");
    command
        ->add_option("-o,--output", options->output,
                     "File to write instead; engines read only those whose names end in .json")
        ->type_name("FILE");
  });
  command->footer(
      "Devices: cccl-cached/cache=node turns the cache on for all programs of a container. "
      "cccl-cached/cache=client brings the same files, and sets no variable of the loader.\n"
      "Exit codes: 0 done, 2 usage, 5 any other error.\n"
      "Example: cccl-cache-cli cdi --output /etc/cdi/cccl-cached.json");
  command->callback([&common, exit_code, options] { *exit_code = Run(common, *options); });
}

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/layer_options.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace cccl_cache::daemon::layer_options_test {
namespace {

TEST_CASE("the daemon's own places are state, keys, passwords, credentials and configuration") {
  LoadedConfiguration loaded;
  loaded.values.state_dir = "/state";
  loaded.values.socket = "/run/elsewhere/socket";
  Surroundings surroundings;
  CHECK(OwnPlacesOf(loaded, surroundings) == std::vector<std::string>{"/state"});
  loaded.file = "/etc/config.toml";
  loaded.values.remote.key = "/etc/key";
  loaded.values.remote.password_file = "/etc/password";
  loaded.values.remote.trust = {"/etc/trust"};
  surroundings.environment["RUNTIME_DIRECTORY"] = "/run/a:/run/b";
  surroundings.environment["CREDENTIALS_DIRECTORY"] = "/run/credentials/x";
  auto places = OwnPlacesOf(loaded, surroundings);
  std::ranges::sort(places);
  CHECK(places == std::vector<std::string>{"/etc/config.toml", "/etc/key", "/etc/password",
                                           "/etc/trust", "/run/a", "/run/b", "/run/credentials/x",
                                           "/state"});
}

TEST_CASE("compiles may use the memory minus caches and an eighth, at least a quarter") {
  Configuration configuration;
  configuration.memory_limit = 1000;
  configuration.builds.preamble_bytes = 2000;
  CHECK(CompileMemoryOf(configuration, 16'000) == 11'000);
  CHECK(CompileMemoryOf(configuration, 4000) == 1000);
  CHECK(CompileMemoryOf(configuration, 400) == 100);
  CHECK(CompileMemoryOf(configuration, 0) == 0);
  configuration.compile_memory_limit = 5;
  CHECK(CompileMemoryOf(configuration, 16'000) == 5);
  configuration.compile_memory_limit = 0;
  CHECK(CompileMemoryOf(configuration, 16'000) == 0);
}

TEST_CASE("the socket's group is found by its name, and a missing one is refused") {
  Configuration configuration;
  configuration.socket = "/run/s";
  configuration.socket_mode = 0660;
  CHECK(ListenOptionsOf(configuration)->front().path == "/run/s");
  CHECK(ListenOptionsOf(configuration)->front().mode == 0660);
  CHECK_FALSE(ListenOptionsOf(configuration)->front().group);
  configuration.socket_group = "root";
  CHECK(ListenOptionsOf(configuration)->front().group == 0u);
  configuration.socket_group = "no such group";
  const auto refused = ListenOptionsOf(configuration);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidRequest);
  CHECK(refused.error().message ==
        "socket_group: this machine has no group \"no such group\": make it with groupadd, or "
        "name another one");
}

TEST_CASE("sockets for containers have the main socket's mode and group") {
  Configuration configuration;
  configuration.socket = "/run/s";
  configuration.socket_mode = 0666;
  configuration.socket_group = "root";
  configuration.container_socket = {"/run/a/s", "/run/b/s"};
  const auto all = ListenOptionsOf(configuration);
  REQUIRE(all->size() == 3);
  CHECK_FALSE(all->at(0).for_containers);
  for (const size_t i : {1, 2}) {
    CHECK(all->at(i).path == configuration.container_socket[i - 1]);
    CHECK(all->at(i).mode == 0666);
    CHECK(all->at(i).group == 0u);
    CHECK(all->at(i).for_containers);
  }
}

TEST_CASE("the group of administrators is found by its name, and a missing one is refused") {
  Configuration configuration;
  CHECK(AdminGroupOf(configuration).value() == std::nullopt);
  configuration.admin_group = "root";
  CHECK(AdminGroupOf(configuration).value() == 0u);
  configuration.admin_group = "no such group";
  CHECK(AdminGroupOf(configuration).error().code == ErrorCode::kInvalidRequest);
}

TEST_CASE("groups with shared deposits are found by name, and a missing one is refused") {
  Configuration configuration;
  configuration.remote.deposits = {"root"};
  CHECK(RemoteSetupOf(configuration)->shared_groups.empty());  // no Redis is configured
  configuration.remote.url = "unix:///r";
  CHECK(RemoteSetupOf(configuration)->shared_groups == std::map<gid_t, std::string>{{0, "root"}});
  configuration.remote.deposits.emplace_back("no such group");
  const auto refused = RemoteSetupOf(configuration);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, Catch::StartsWith("remote_deposits: "));
}

TEST_CASE("the error of a wrong cluster setting begins with its name") {
  const auto message = [](std::string RemoteSettings::*setting, const std::string& value) {
    Configuration configuration;
    configuration.remote.url = "unix:///r";
    configuration.remote.*setting = value;
    return RemoteSetupOf(configuration).error().message;
  };
  CHECK_THAT(message(&RemoteSettings::url, "redis://u:secret@h"),
             Catch::StartsWith("remote_url: ") && !Catch::Contains("secret"));
  CHECK_THAT(message(&RemoteSettings::password_file, "/proc/nowhere"),
             Catch::StartsWith("remote_password_file: "));
  CHECK_THAT(message(&RemoteSettings::key, "/proc/nowhere"), Catch::StartsWith("remote_key: "));
  Configuration configuration;
  configuration.shelf_path = {"/shelf"};
  configuration.remote.trust = {"/proc/nowhere"};
  CHECK_THAT(RemoteSetupOf(configuration).error().message, Catch::StartsWith("remote_trust: "));
}

}  // namespace
}  // namespace cccl_cache::daemon::layer_options_test

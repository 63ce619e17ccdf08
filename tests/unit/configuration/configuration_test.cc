// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/configuration.h"

#include <catch2/catch.hpp>

#include "base/files/own_path.h"

namespace configuration_test {

using namespace cccl_cache::daemon;

TEST_CASE("root's daemon has system-wide directories") {
  Surroundings root;
  root.environment = {{"XDG_RUNTIME_DIR", "/run/user/0"}, {"HOME", "/root"}};
  const Configuration configuration = DefaultConfiguration(root);
  CHECK(configuration.socket == "/run/cccl-cached/socket");
  CHECK(configuration.state_dir == "/var/lib/cccl-cached");
  CHECK(configuration.socket_mode == 0666);
  CHECK(DefaultConfigFile(root) == "/etc/cccl-cached/config.toml");
}

TEST_CASE("an unprivileged user's system service has system-wide directories") {
  Surroundings service;
  service.uid = 990;
  service.environment = {{"STATE_DIRECTORY", "/var/lib/cccl-cached:/var/lib/other"}};
  const Configuration configuration = DefaultConfiguration(service);
  CHECK(configuration.socket == "/run/cccl-cached/socket");
  CHECK(configuration.state_dir == "/var/lib/cccl-cached");
  CHECK(configuration.socket_mode == 0666);
  CHECK(DefaultConfigFile(service) == "/etc/cccl-cached/config.toml");

  service.environment["RUNTIME_DIRECTORY"] = "/run/other";
  service.environment["CONFIGURATION_DIRECTORY"] = "/etc/other";
  CHECK(DefaultConfiguration(service).socket == "/run/other/socket");
  CHECK(DefaultConfigFile(service) == "/etc/other/config.toml");
}

TEST_CASE("a user's daemon has the user's own directories") {
  Surroundings user;
  user.uid = 1000;
  user.processors = 12;
  user.environment = {{"XDG_RUNTIME_DIR", "/run/user/1000"}, {"HOME", "/home/ann"}};
  const Configuration configuration = DefaultConfiguration(user);
  CHECK(configuration.socket == "/run/user/1000/cccl-cached/socket");
  CHECK(configuration.state_dir == "/home/ann/.local/state/cccl-cached");
  CHECK(configuration.socket_mode == 0600);
  CHECK(configuration.builds.slots == 12);
  CHECK(DefaultConfigFile(user) == "/home/ann/.config/cccl-cached/config.toml");

  user.environment["XDG_STATE_HOME"] = "/state";
  user.environment["XDG_CONFIG_HOME"] = "/config";
  CHECK(DefaultConfiguration(user).state_dir == "/state/cccl-cached");
  CHECK(DefaultConfigFile(user) == "/config/cccl-cached/config.toml");
}

TEST_CASE("a service of a user's service manager has a private socket") {
  Surroundings user;
  user.uid = 1000;
  user.environment = {{"XDG_RUNTIME_DIR", "/run/user/1000"},
                      {"RUNTIME_DIRECTORY", "/run/user/1000/cccl-cached"}};
  CHECK(DefaultConfiguration(user).socket == "/run/user/1000/cccl-cached/socket");
  CHECK(DefaultConfiguration(user).socket_mode == 0600);
}

TEST_CASE("without XDG_RUNTIME_DIR a user's socket is below the home directory") {
  Surroundings user;
  user.uid = 1000;
  user.environment = {{"HOME", "/home/ann"}};
  const Configuration configuration = DefaultConfiguration(user);
  CHECK(configuration.socket == cccl_cache::SocketBelowHome("/home/ann"));
  CHECK(configuration.socket_mode == 0600);
}

TEST_CASE("without XDG_RUNTIME_DIR and HOME a user has no socket, even in /tmp") {
  Surroundings user;
  user.uid = 1000;
  user.environment = {{"TMPDIR", "/tmp"}};
  CHECK(DefaultConfiguration(user).socket.empty());
  CHECK(DefaultConfiguration(user).state_dir.empty());
  CHECK(DefaultConfigFile(user).empty());
  user.environment = {{"XDG_RUNTIME_DIR", "relative"}};
  CHECK(DefaultConfiguration(user).socket.empty());
}

}  // namespace configuration_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "daemon/configuration/settings.h"
#include "tests/support/root.h"
#include "tests/unit/configuration/temporary_file.h"

namespace load_test {

using namespace cccl_cache::daemon;

namespace {

/// A user with a home and no configuration file.
Surroundings User() {
  Surroundings user;
  user.uid = 1000;
  user.environment = {{"XDG_RUNTIME_DIR", "/run/user/1000"}, {"HOME", "/nonexistent"}};
  return user;
}

Result<LoadedConfiguration> Load(std::vector<std::string> arguments, const Surroundings& around) {
  const auto command_line = ParseCommandLine(std::move(arguments));
  REQUIRE(command_line.ok());
  return LoadConfiguration(*command_line, around);
}

std::string ErrorOf(const Result<LoadedConfiguration>& loaded) {
  REQUIRE_FALSE(loaded.ok());
  return loaded.error().message;
}

}  // namespace

TEST_CASE("flag beats environment beats file beats default, and each value has its origin") {
  const TemporaryFile file("jobs = 3\nqueue_limit = 30\ncall_limit = 300\n");
  Surroundings user = User();
  user.environment["CCCL_CACHED_JOBS"] = "4";
  user.environment["CCCL_CACHED_QUEUE_LIMIT"] = "40";
  const auto loaded = Load({"--config", file.path(), "--jobs", "5"}, user);
  REQUIRE(loaded.ok());
  CHECK(loaded->values.builds.slots == 5);
  CHECK(loaded->values.builds.queued == 40);
  CHECK(loaded->values.clients.calls == 300);
  CHECK(loaded->values.store_limit == Configuration().store_limit);

  const std::string printed = PrintConfiguration(*loaded);
  CHECK(printed.find("jobs = 5  # flag --jobs\n") != std::string::npos);
  CHECK(printed.find("queue_limit = 40  # environment CCCL_CACHED_QUEUE_LIMIT\n") !=
        std::string::npos);
  CHECK(printed.find("call_limit = 300  # " + file.path() + ":3\n") != std::string::npos);
  CHECK(printed.find("store_limit = \"16GiB\"  # default\n") != std::string::npos);
}

TEST_CASE("every setting can be given as a flag, as a key and as a variable") {
  for (const Setting& setting : Settings()) {
    INFO(setting.name);
    std::string text;
    Configuration expected;
    for (const char* candidate :
         {"/elsewhere", "17", "333MiB", "3MiB", "77s", "0751", "debug", "json", "roots", "g"}) {
      text = candidate;
      if (setting.set(expected, {text}).ok()) break;
    }
    const TemporaryFile file(std::string(setting.name) + " = " +
                             (setting.bare ? text : "\"" + text + "\"") + "\n");
    Surroundings variable = User();
    variable.environment[setting.Variable()] = text;
    for (const auto& loaded : {Load({setting.Flag(), text}, User()), Load({}, variable),
                               Load({"--config", file.path()}, User())}) {
      REQUIRE(loaded.ok());
      CHECK(setting.show(loaded->values) == setting.show(expected));
    }
  }
}

TEST_CASE("a bad value's error names its place and the accepted values") {
  const TemporaryFile file("\nstore_limit = \"4GB\"\n");
  CHECK(ErrorOf(Load({"--config", file.path()}, User()))
            .find(file.path() + ":2: store_limit: \"4GB\" is not a size") == 0);
  CHECK(ErrorOf(Load({"--jobs", "none"}, User())).find("flag --jobs: \"none\"") == 0);
  CHECK(ErrorOf(Load({"--worker-memory-limit", "36MiB"}, User()))
            .find("flag --worker-memory-limit: 36MiB is less than 96MiB") == 0);
  Surroundings user = User();
  user.environment["CCCL_CACHED_LOG_LEVEL"] = "";
  CHECK(ErrorOf(Load({}, user)).find("environment CCCL_CACHED_LOG_LEVEL: \"\"") == 0);
}

TEST_CASE("an unknown variable with the daemon's prefix is an error, others are ignored") {
  Surroundings user = User();
  user.environment["CCCL_CACHE_SOCKET"] = "/s";
  CHECK(Load({}, user).ok());
  user.environment["CCCL_CACHED_JOB"] = "3";
  CHECK(ErrorOf(Load({}, user)) ==
        "unknown variable CCCL_CACHED_JOB in the environment; did you mean CCCL_CACHED_JOBS?");
}

TEST_CASE("a list in a variable is separated by colons") {
  Surroundings user = User();
  user.environment["CCCL_CACHED_TOOLCHAIN_ROOT"] = "/a::/b:";
  const auto loaded = Load({}, user);
  REQUIRE(loaded.ok());
  CHECK(loaded->values.toolchain_root == std::vector<std::string>{"/a", "/b"});
}

TEST_CASE("a named file must exist; the default one need not") {
  CHECK(Load({}, User()).ok());
  CHECK_FALSE(Load({"--config", "/nonexistent/c.toml"}, User()).ok());
  Surroundings user = User();
  user.environment["CCCL_CACHED_CONFIG"] = "/nonexistent/c.toml";
  CHECK_FALSE(Load({}, user).ok());

  const TemporaryFile file("jobs = 7\n");
  Surroundings root;
  root.system_config_file = file.path();
  CHECK(Load({}, root)->values.builds.slots == 7);
}

TEST_CASE("a configuration without a socket or a state directory is incomplete") {
  Surroundings nobody;
  nobody.uid = 1000;
  auto loaded = Load({}, nobody);
  REQUIRE(loaded.ok());
  CHECK(CheckComplete(*loaded, nobody).error().message.find("XDG_RUNTIME_DIR") !=
        std::string::npos);

  nobody.environment["LISTEN_FDS"] = "1";
  CHECK(CheckComplete(*loaded, nobody).error().message.find("--state-dir") != std::string::npos);
  nobody.environment["XDG_STATE_HOME"] = "/state";
  CHECK(CheckComplete(*Load({}, nobody), nobody).ok());
  CHECK(CheckComplete(*Load({}, User()), User()).ok());
}

TEST_CASE("the printed configuration can be loaded and is equal") {
  const auto loaded =
      Load({"--toolchain-root", "/a", "--jobs", "5", "--socket-mode", "0640"}, User());
  REQUIRE(loaded.ok());
  const TemporaryFile file(PrintConfiguration(*loaded));
  const auto again = Load({"--config", file.path()}, User());
  REQUIRE(again.ok());
  for (const Setting& setting : Settings()) {
    CHECK(setting.show(again->values) == setting.show(loaded->values));
  }
}

TEST_CASE("the example configuration shows every setting with its default") {
  std::ifstream example(CCCL_CACHED_EXAMPLE_CONFIG);
  REQUIRE(example);
  std::string uncommented;
  for (std::string line; std::getline(example, line);) {
    // "# " begins an explanation, "#" alone a setting that is commented out.
    if (line.starts_with('#') && !line.starts_with("# ") && line != "#")
      uncommented += line.substr(1) + "\n";
  }
  const TemporaryFile file(uncommented);
  Surroundings root;
  root.processors = 1;
  root.system_config_file = "/nonexistent";
  const auto defaults = Load({}, root);
  const auto shown = Load({"--config", file.path()}, root);
  REQUIRE(shown.ok());
  for (const Setting& setting : Settings()) {
    INFO(setting.name);
    CHECK(shown->origins.count(setting.name) == 1);
    CHECK(setting.show(shown->values) == setting.show(defaults->values));
  }
}

namespace {

std::string TomlFileErrorOf(const TemporaryFile& file) {
  const auto assignments = ReadTomlFile(file.path());
  REQUIRE_FALSE(assignments.ok());
  return assignments.error().message;
}

}  // namespace

TEST_CASE("settings from a file have their line numbers") {
  const TemporaryFile file(
      "# comment\nsocket = \"/s\"\n\njobs = 3\ntoolchain_root = [\"/a\", \"/b\"]\n");
  const auto assignments = ReadTomlFile(file.path());
  REQUIRE(assignments.ok());
  REQUIRE(assignments->size() == 3);
  for (const Assignment& assignment : *assignments) {
    if (assignment.setting->name == "jobs") {
      CHECK(assignment.texts == std::vector<std::string>{"3"});
      CHECK(assignment.origin == file.path() + ":4");
    } else if (assignment.setting->name == "toolchain_root") {
      CHECK(assignment.texts == std::vector<std::string>{"/a", "/b"});
    }
  }
}

TEST_CASE("an empty file sets nothing") {
  const TemporaryFile file("");
  const auto assignments = ReadTomlFile(file.path());
  REQUIRE(assignments.ok());
  CHECK(assignments->empty());
}

TEST_CASE("the error of an unknown key names its line and the nearest known key") {
  const TemporaryFile file("jobs = 3\nsocket_mod = \"0600\"\n");
  CHECK(TomlFileErrorOf(file) ==
        file.path() + ":2: unknown key socket_mod; did you mean socket_mode?");
}

TEST_CASE("the error of a value of the wrong type names its line and the right form") {
  const TemporaryFile quoted("jobs = \"3\"\n");
  CHECK(TomlFileErrorOf(quoted) == quoted.path() + ":1: jobs: write a number");
  const TemporaryFile bare("\nsocket_mode = 600\n");
  CHECK(TomlFileErrorOf(bare) == bare.path() + ":2: socket_mode: write a string in quotes");
  const TemporaryFile list("toolchain_root = [\"/a\", 1]\n");
  CHECK(TomlFileErrorOf(list).find("array of them") != std::string::npos);
  const TemporaryFile table("[jobs]\n");
  CHECK(TomlFileErrorOf(table).find(":1: jobs: write a number") != std::string::npos);
}

TEST_CASE("the error of a file that is not TOML names the line") {
  const TemporaryFile file("jobs = 3\nsocket = /run\n");
  CHECK(TomlFileErrorOf(file).find(file.path() + ":2: ") == 0);
}

TEST_CASE("a size or a time without quotes is an error that shows how to write it") {
  const TemporaryFile size("jobs = 3\nstore_limit = 2GB\n");
  CHECK_THAT(TomlFileErrorOf(size), Catch::Matchers::StartsWith(size.path() + ":2: ") &&
                                        Catch::Matchers::Contains("quotes: store_limit = \""));
  const TemporaryFile time("build_timeout=2m");
  CHECK_THAT(TomlFileErrorOf(time), Catch::Matchers::Contains("quotes: build_timeout = \""));
  const TemporaryFile other("store_limit = \"2GiB\njobs = 3x\n");
  CHECK_THAT(TomlFileErrorOf(other), !Catch::Matchers::Contains("quotes: "));
}

TEST_CASE("the error of a file that can't be read has the reason") {
  const auto missing = ReadTomlFile("/nonexistent/config.toml");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("No such file") != std::string::npos);
  const auto directory = ReadTomlFile("/");
  REQUIRE_FALSE(directory.ok());
  CHECK(directory.error().message.find("directory") != std::string::npos);
}

TEST_CASE("a configuration file that other users can write is refused") {
  const TemporaryFile file("jobs = 3\n");
  REQUIRE(chmod(file.path().c_str(), 0644) == 0);
  CHECK(Load({"--config", file.path()}, User()).ok());
  REQUIRE(chmod(file.path().c_str(), 0646) == 0);
  CHECK(ErrorOf(Load({"--config", file.path()}, User())).find("configure this daemon") !=
        std::string::npos);
}

TEST_CASE("a configuration file of another user is refused", "[root]") {
  RequireRoot();
  const TemporaryFile file("jobs = 3\n");
  REQUIRE(chown(file.path().c_str(), 54'321, 0) == 0);
  CHECK(ErrorOf(Load({"--config", file.path()}, User())).find("configure this daemon") !=
        std::string::npos);
}

}  // namespace load_test

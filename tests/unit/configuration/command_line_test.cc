// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/command_line.h"

#include <catch2/catch.hpp>

namespace command_line_test {

using namespace cccl_cache::daemon;

TEST_CASE("a flag's value follows a blank or an equals sign") {
  const auto parsed = ParseCommandLine({"--jobs", "3", "--log-level=debug", "--print-config"});
  REQUIRE(parsed.ok());
  CHECK(parsed->print_config);
  REQUIRE(parsed->assignments.size() == 2);
  CHECK(parsed->assignments[0].setting->name == "log_level");
  CHECK(parsed->assignments[1].texts == std::vector<std::string>{"3"});
  CHECK(parsed->assignments[1].origin == "flag --jobs");
}

TEST_CASE("a repeated flag extends a list; any other setting has the last value") {
  const auto parsed = ParseCommandLine(
      {"--toolchain-root", "/a", "--toolchain-root", "/b", "--jobs", "1", "--jobs", "2"});
  REQUIRE(parsed.ok());
  REQUIRE(parsed->assignments.size() == 2);
  CHECK(parsed->assignments[0].texts == std::vector<std::string>{"/a", "/b"});
  CHECK(parsed->assignments[1].texts == std::vector<std::string>{"2"});
}

TEST_CASE("a relative path is resolved in the working directory") {
  const auto parsed = ParseCommandLine({"--socket", "here/../s", "--config", "c.toml"});
  REQUIRE(parsed.ok());
  CHECK(parsed->assignments[0].texts[0].front() == '/');
  CHECK(parsed->assignments[0].texts[0].find("..") == std::string::npos);
  CHECK(parsed->config_file.front() == '/');
}

TEST_CASE("an address instead of a socket's path is refused with the correct form") {
  const auto parsed = ParseCommandLine({"--socket", "unix:///run/s"});
  REQUIRE(parsed.ok());
  Configuration configuration;
  const Assignment& given = parsed->assignments.at(0);
  const auto set = given.setting->set(configuration, given.texts);
  REQUIRE_FALSE(set.ok());
  CHECK(set.error().message.find("begin it with /") != std::string::npos);
}

namespace {

std::string ErrorOf(std::vector<std::string> arguments) {
  const auto parsed = ParseCommandLine(std::move(arguments));
  return parsed ? "" : parsed.error().message;
}

}  // namespace

TEST_CASE("an option takes one value, and a further argument is refused by name") {
  using Catch::Matchers::Contains;
  CHECK_THAT(ErrorOf({"--state-dir", "/x", "start", "--jobs", "3"}), Contains("start"));
  CHECK_THAT(ErrorOf({"--jobs", "3", "17"}), Contains("17"));
  CHECK_THAT(ErrorOf({"--toolchain-root", "/a", "/b"}), Contains("/b"));
  CHECK_THAT(ErrorOf({"--config", "/c", "/d"}), Contains("/d"));
  const auto repeated = ParseCommandLine({"--config", "/c", "--config", "/d"});
  REQUIRE(repeated.ok());
  CHECK(repeated->config_file == "/d");
}

TEST_CASE("the error of an option without its value names the option and the value") {
  using Catch::Matchers::Contains;
  CHECK_THAT(ErrorOf({"--jobs", "3", "--socket"}), Contains("--socket") && Contains("(PATH)"));
  CHECK_THAT(ErrorOf({"--socket="}), Contains("--socket:") && Contains("(PATH)"));
  CHECK_THAT(ErrorOf({"--config"}), Contains("--config") && Contains("(FILE)"));
}

TEST_CASE("an unknown flag, a stray word and a missing value are errors") {
  const auto unknown = ParseCommandLine({"--socket-mod=0600"});
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message ==
        "unknown argument --socket-mod=0600; did you mean --socket-mode?");
  const auto word = ParseCommandLine({"start"});
  REQUIRE_FALSE(word.ok());
  CHECK(word.error().message.find("systemctl start cccl-cached") != std::string::npos);
  CHECK_FALSE(ParseCommandLine({"--jobs"}).ok());
}

TEST_CASE("help shows defaults, under headings") {
  const auto parsed = ParseCommandLine({"--help"});
  REQUIRE(parsed.ok());
  CHECK(parsed->help->find("size of the cache on disk (default: \"16GiB\")") != std::string::npos);
  CHECK(parsed->help->find("(default: [])") == std::string::npos);
  const size_t heading = parsed->help->find("\nDeposits:");
  REQUIRE(heading != std::string::npos);
  CHECK(parsed->help->find("--deposit-limit") > heading);
  CHECK(parsed->help->find("--log-level") < heading);
  const size_t cluster = parsed->help->find("\nCluster:");
  REQUIRE(cluster != std::string::npos);
  CHECK(parsed->help->find("--upload-limit") < cluster);
  CHECK(parsed->help->find("--remote-url") > cluster);
  CHECK(parsed->help->find("\n\n\n") == std::string::npos);
  CHECK(parsed->help->find("--shelf-path") > cluster);
}

TEST_CASE("help names every setting and shows an example") {
  const auto parsed = ParseCommandLine({"--help"});
  REQUIRE(parsed.ok());
  REQUIRE(parsed->help.has_value());
  for (const Setting& setting : Settings()) {
    INFO(setting.name);
    CHECK(parsed->help->find(setting.Flag()) != std::string::npos);
  }
  CHECK(parsed->help->find("Example: cccl-cached ") != std::string::npos);
}

}  // namespace command_line_test

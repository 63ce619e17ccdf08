// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/settings.h"

#include <catch2/catch.hpp>
#include <set>

namespace settings_test {

using namespace cccl_cache::daemon;

TEST_CASE("every setting has one name in each source") {
  std::set<std::string_view> names;
  for (const Setting& setting : Settings()) {
    INFO(setting.name);
    CHECK(names.insert(setting.name).second);
    CHECK(FindSetting(setting.name) == &setting);
    CHECK_FALSE(setting.help.empty());
  }
  CHECK(FindSetting("socket_mode")->Flag() == "--socket-mode");
  CHECK(FindSetting("socket_mode")->Variable() == "CCCL_CACHED_SOCKET_MODE");
  CHECK(FindSetting("Socket_mode") == nullptr);
}

TEST_CASE("each setting changes a different value") {
  for (const Setting& setting : Settings()) {
    INFO(setting.name);
    Configuration changed;
    // For every kind of value one of these is valid, and none is a default.
    bool set = false;
    for (const char* text :
         {"/somewhere", "17", "333MiB", "3MiB", "77s", "0751", "debug", "json", "roots", "staff"}) {
      if (set = setting.set(changed, {text}).ok(); set) break;
    }
    REQUIRE(set);
    for (const Setting& other : Settings()) {
      INFO(other.name);
      CHECK((other.show(changed) != other.show(Configuration())) == (&other == &setting));
    }
  }
}

TEST_CASE("text is printed as quoted and escaped TOML") {
  Configuration configuration;
  configuration.socket = R"(/a "b" \c)";
  configuration.toolchain_root = {"/x", "/y"};
  CHECK(FindSetting("socket")->show(configuration) == R"("/a \"b\" \\c")");
  CHECK(FindSetting("toolchain_root")->show(configuration) == R"(["/x", "/y"])");
  CHECK(FindSetting("jobs")->show(configuration) == "1");
}

}  // namespace settings_test

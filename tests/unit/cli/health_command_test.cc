// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace health_command_test {

namespace {

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    Library().toolchains = {{"aa", "13.0"}};
  }
  [[nodiscard]] static Said Health(bool json = false) {
    return RunCommand({"health"}, {.socket = "/s", .json = json});
  }
  [[nodiscard]] static int Ready() {
    return RunCommand({"health", "--ready"}, {.socket = "/s"}).exit_code;
  }
};

}  // namespace

TEST_CASE("health of a ready daemon is one line") {
  const Scene scene;
  const Said said = Scene::Health();
  CHECK(said.exit_code == 0);
  CHECK(said.output == "cccl-cached 1.2.3 at /s: serving\n");
}

TEST_CASE("health fails if the daemon does not serve") {
  const Scene scene;
  Library().serving = false;
  const Said said = Scene::Health();
  CHECK(said.exit_code == 5);
  CHECK(said.output == "cccl-cached 1.2.3 at /s: not serving\n");
}

TEST_CASE("health shows a problem, but fails only with --ready") {
  const Scene scene;
  CHECK(Scene::Ready() == 0);
  Library().problem = "the disk is full";
  const Said said = Scene::Health();
  CHECK(said.exit_code == 0);
  CHECK(Has(said.output, ": serving\nthe disk is full\n"));
  CHECK(Has(Scene::Health(true).output, "\"problem\": \"the disk is full\""));
  CHECK(Scene::Ready() == 1);
}

TEST_CASE("a daemon's problem can't change how the terminal shows other lines") {
  const Scene scene;
  Library().problem = "full\x1b[2J";
  CHECK(Scene::Health().output == "cccl-cached 1.2.3 at /s: serving\nfull?[2J\n");
}

TEST_CASE("a daemon that does not serve is not ready") {
  const Scene scene;
  Library().serving = false;
  CHECK(Scene::Ready() == 1);
}

TEST_CASE("a wait of health that is no time is refused") {
  const Scene scene;
  const Said said = RunCommand({"health", "--wait", "soon"}, {.socket = "/s"});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "--wait: \"soon\" is no time up to an hour, as 50ms, 2s, 1m or 0"));
}

TEST_CASE("health does not wait for a daemon that serves, and fails after its wait otherwise") {
  const Scene scene;
  CHECK(RunCommand({"health", "--ready", "--wait", "1h"}, {.socket = "/s"}).exit_code == 0);
  Library().problem = "the disk is full";
  CHECK(RunCommand({"health", "--wait", "1h"}, {.socket = "/s"}).exit_code == 0);
  CHECK(RunCommand({"health", "--ready", "--wait", "1ms"}, {.socket = "/s"}).exit_code == 1);
}

TEST_CASE("health as JSON has no number of toolchains if it is unknown") {
  const Scene scene;
  for (const auto status : {CCCL_CACHE_DEADLINE, CCCL_CACHE_UNAVAILABLE}) {
    Library().failures = {{"toolchains", status}};
    CHECK_FALSE(Has(Scene::Health(true).output, "\"toolchains\""));
  }
}

TEST_CASE("health as JSON has the limits under the names of the settings") {
  const Scene scene;
  const std::string text = Scene::Health(true).output;
  for (const char* part : {"\"status\": \"serving\"", "\"uid\": 7", "\"toolchains\": 1",
                           "\"problem\": \"\"", "\"lease_seconds\": 60"}) {
    INFO(part);
    CHECK(Has(text, part));
  }
}

TEST_CASE("health prints the daemon's error") {
  for (const char* function : {"check_health", "info"}) {
    const Scene scene;
    Library().failures = {{function, CCCL_CACHE_UNAVAILABLE}};
    CHECK(Scene::Health().exit_code == 5);
  }
  const Scene scene;
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(Scene::Health().exit_code == 3);
}

}  // namespace health_command_test

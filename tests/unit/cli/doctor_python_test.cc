// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "cli/doctor/check.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/said.h"

namespace doctor_python_test {

namespace {

using namespace cccl_cache::cli;

/// A PATH with a python3 that is a shell script.
class Scene {
 public:
  Scene() { Unset(); }
  ~Scene() { Unset(); }

  Check Python(const std::string& script,
               std::chrono::milliseconds patience = std::chrono::minutes(1)) const {
    namespace fs = std::filesystem;
    fs::permissions(directory_.Write("python3", "#!/bin/sh\n" + script), fs::perms::all);
    return CheckPython("/usr/bin/cccl-cache-cli", "relative:/nowhere:" + directory_.path(),
                       patience);
  }

 private:
  static void Unset() {
    for (const char* name : {"CCCL_CACHE", "CCCL_CACHE_CUPY", "LD_AUDIT"}) unsetenv(name);
  }

  const cccl_cache::daemon::TemporaryDirectory directory_;
};

constexpr const char* kWithoutClient =
    "echo python python 3.11.2; echo package torch 2.9.0; echo end\n";
constexpr const char* kAll =
    "echo python python 3.11.2; echo client cccl_cache 0.1.0; echo package torch 2.9.0; echo end\n";

}  // namespace

TEST_CASE("no python3 in PATH passes") {
  CHECK(CheckPython("", "/nowhere", std::chrono::minutes(1)).verdict == CheckVerdict::kPass);
  CHECK(CheckPython("", "", std::chrono::minutes(1)).verdict == CheckVerdict::kPass);
}

TEST_CASE("a program from a wheel checks the Python that the wheel was installed for") {
  namespace fs = std::filesystem;
  const cccl_cache::daemon::TemporaryDirectory place;
  const std::string package = place.path() + "/venv/lib/python3.11/site-packages/cccl_cache";
  fs::create_directories(package);
  fs::create_directories(place.path() + "/venv/bin");
  fs::create_directories(place.path() + "/path");
  const auto make = [&](const std::string& name, const std::string& version) {
    fs::permissions(place.Write(name, "#!/bin/sh\necho python python " + version + "; echo end\n"),
                    fs::perms::all);
  };
  make("path/python3", "3.9.9");
  const auto seen = [&] {
    return CheckPython(package + "/cccl-cache-cli", place.path() + "/path", std::chrono::minutes(1))
        .seen;
  };
  CHECK(Has(seen(), "/path/python3 3.9.9: "));
  make("path/python3.11", "3.11.1");
  CHECK(Has(seen(), "/path/python3.11 3.11.1: "));
  make("venv/bin/python3.11", "3.11.2");
  CHECK(Has(seen(), "/venv/bin/python3.11 3.11.2: "));
}

TEST_CASE("a python3 is shown with cccl_cache and the packages that it serves") {
  const Scene scene;
  setenv("CCCL_CACHE", "1", 1);
  const Check check = scene.Python(kAll);
  CHECK(check.verdict == CheckVerdict::kPass);
  CHECK(Has(check.seen, "3.11.2: cccl_cache 0.1.0; torch 2.9.0"));
}

TEST_CASE("packages that are not served are a warning, with a remedy") {
  const Scene scene;
  Check check = scene.Python(kAll);
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.way_out, "export CCCL_CACHE=1"));
  check = scene.Python(kWithoutClient);
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.way_out, "cccl-cache-cli run"));
  CHECK(scene.Python("echo python python 3.11.2; echo end\n").verdict == CheckVerdict::kPass);
}

TEST_CASE("a variable that turns plug-ins on has no effect on a python3 without cccl_cache") {
  const Scene scene;
  for (const char* name : {"CCCL_CACHE", "CCCL_CACHE_CUPY"}) {
    setenv(name, "1", 1);
    const Check check = scene.Python(kWithoutClient);
    CHECK(check.verdict == CheckVerdict::kWarning);
    CHECK(Has(check.seen, name + std::string(" is set, but")));
    CHECK(Has(check.way_out, "install the wheel"));
    unsetenv(name);
  }
}

TEST_CASE("the command run serves a python3 without cccl_cache") {
  const Scene scene;
  setenv("LD_AUDIT", "/opt/other.so", 1);
  CHECK(scene.Python(kWithoutClient).verdict == CheckVerdict::kWarning);
  setenv("LD_AUDIT", "/nowhere/libcccl_cache_audit.so", 1);
  CHECK(scene.Python(kWithoutClient).verdict == CheckVerdict::kPass);
}

TEST_CASE("an import of cccl_cache that ends Python is reported with the exit status") {
  const Scene scene;
  const std::string answers = "echo python python 3.11.2; echo package torch 2.9.0; ";
  Check check = scene.Python(answers + "kill -SEGV $$\n");
  CHECK(check.verdict == CheckVerdict::kFailure);
  CHECK(Has(check.seen, "importing cccl_cache crashed (signal 11)"));
  check = scene.Python(answers + "exit 3\n");
  CHECK(check.verdict == CheckVerdict::kFailure);
  CHECK(Has(check.seen, "importing cccl_cache ended with 3"));
  check = scene.Python(answers + "kill -KILL $$\n");
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.seen, "importing cccl_cache did not finish"));
}

TEST_CASE("a python3 that can't be executed is reported") {
  const Scene scene;
  const Check check = scene.Python("exit 127\n");
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.seen, "can't be executed"));
}

TEST_CASE("a cccl_cache that can't be imported is a failure") {
  const Scene scene;
  const Check check =
      scene.Python("echo python python 3.11.2; echo broken OSError no such library; echo end\n");
  CHECK(check.verdict == CheckVerdict::kFailure);
  CHECK(Has(check.seen, "OSError: no such library"));
}

TEST_CASE("a python3 that hangs or writes without end is killed, and is a warning") {
  const Scene scene;
  const Check silent = scene.Python("exec sleep 1000\n", std::chrono::milliseconds(50));
  CHECK(silent.verdict == CheckVerdict::kWarning);
  const Check endless = scene.Python("while :; do echo word; done\n");
  CHECK(endless.verdict == CheckVerdict::kWarning);
}

TEST_CASE("python3 imports no file of the caller's working directory") {
  const Scene scene;
  CHECK(Has(scene.Python("echo python python $(pwd); echo end\n").seen, " /: "));
}

}  // namespace doctor_python_test

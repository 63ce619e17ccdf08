// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace toolchains_command_test {

namespace {

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    Library().toolchains = {{std::string(64, 'a'),
                             "13.0",
                             true,
                             {{"nvrtc", "13.0"}, {"nvvm", "4.0"}},
                             {"sm_75", "sm_90"}},
                            {std::string(64, 'b'), "12.9", false, {{"nvrtc", "12.9"}}}};
    Library().rejected = {{"/opt/cuda", "others can write it"}};
  }
};

}  // namespace

TEST_CASE("toolchains marks the default, and lists architectures and rejected toolchains") {
  const Scene scene;
  const Said said = RunCommand({"toolchains"});
  CHECK(said.exit_code == 0);
  CHECK(said.output ==
        "* 13.0  aaaaaaaaaaaa  /cuda  (nvrtc 13.0, nvvm 4.0)\n"
        "    --arch sm_75, sm_90\n"
        "  12.9  bbbbbbbbbbbb  /cuda  (nvrtc 12.9)\n"
        "not used: /opt/cuda: others can write it\n");
}

TEST_CASE("paths of a daemon can't change how the terminal shows other lines") {
  const Scene scene;
  Library().toolchains = {{std::string(64, 'a'), "13.0", true, {{"nvrtc", "\x1b[2J"}}, {"\x1b"}}};
  Library().rejected = {{"/opt/\x1b[2J\n", "others can write it"}};
  CHECK(RunCommand({"toolchains"}).output ==
        "* 13.0  aaaaaaaaaaaa  /cuda  (nvrtc ?[2J)\n"
        "    --arch ?\n"
        "not used: /opt/?[2J?: others can write it\n");
}

TEST_CASE("without a toolchain the command says so and lists the rejected toolchains") {
  const Scene scene;
  Library().toolchains.clear();
  CHECK(RunCommand({"toolchains"}).output ==
        "no toolchain\nnot used: /opt/cuda: others can write it\n");
}

TEST_CASE("toolchains as JSON has whole ids, directories and options") {
  const Scene scene;
  const std::string text = RunCommand({"toolchains"}, {.json = true}).output;
  for (const std::string& part :
       {"\"id\": \"" + std::string(64, 'b') + "\"", std::string("\"selected_by_default\": true"),
        std::string("\"name\": \"nvvm\""), std::string("\"/cuda/include\""),
        std::string("\"--pch\""), std::string("\"sm_75\""),
        std::string("\"reason\": \"others can write it\"")}) {
    INFO(part);
    CHECK(Has(text, part));
  }
}

TEST_CASE("toolchains prints the daemon's error") {
  const Scene scene;
  Library().failures = {{"toolchains", CCCL_CACHE_DEADLINE}};
  CHECK(RunCommand({"toolchains"}).exit_code == 5);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"toolchains"}).exit_code == 3);
}

TEST_CASE("toolchains add sends each NVRTC and nvJitLink below a directory once") {
  const FreshLibrary fresh;
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::filesystem::path site = directory.path() + "/site";
  std::filesystem::create_directories(site / "lib");
  for (const char* name : {"libnvrtc.so.13", "libnvJitLink.so.12", "libcudart.so.13"}) {
    std::ofstream(site / "lib" / name) << name;
  }
  std::filesystem::create_symlink("libnvrtc.so.13", site / "lib/libnvrtc.so.13.0");
  const std::string at = std::filesystem::canonical(site / "lib").string();
  const std::vector<std::string> both = {at + "/libnvJitLink.so.12", at + "/libnvrtc.so.13"};

  const Said said = RunCommand({"toolchains", "add", site.string()});
  CHECK(said.exit_code == 0);
  CHECK(Library().inputs == both);
  CHECK(said.output == "added " + both[0] + "\nadded " + both[1] + "\n");

  Library().has_release = true;
  CHECK(RunCommand({"toolchains", "add", both[1]}).output == "present " + both[1] + "\n");
}

TEST_CASE("toolchains add names each library that the daemon refuses, and ends with a failure") {
  const FreshLibrary fresh;
  Library().failures = {{"add_release", CCCL_CACHE_INVALID_REQUEST}};
  const Said said = RunCommand({"toolchains", "add", "/one", "/two"});
  CHECK(said.exit_code == 4);
  CHECK(said.output.empty());
  for (const char* name : {"/one: ", "/two: "}) CHECK(Has(said.errors, name));
}

TEST_CASE("toolchains add reports a directory without a compiler before it asks the daemon") {
  const FreshLibrary fresh;
  const cccl_cache::daemon::TemporaryDirectory directory;
  const Said said = RunCommand({"toolchains", "add", directory.path()});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "holds no libnvrtc.so.N and no libnvJitLink.so.N"));
  CHECK(Library().inputs.empty());
}

}  // namespace toolchains_command_test

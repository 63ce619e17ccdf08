// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace {

using Words = std::vector<std::string>;

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    Library().result.artifacts = {{CCCL_CACHE_PTX, "ptx"}, {CCCL_CACHE_LTOIR, "ltoir"}};
  }

  [[nodiscard]] Said Compile(const Words& words) const {
    Words all = {"nvvm", "--arch", "compute_90", "-o", directory / "out"};
    all.insert(all.end(), words.begin(), words.end());
    return RunCommand(all);
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  std::string module = directory.Write("k.ll", "ir");
};

}  // namespace

TEST_CASE("nvvm takes modules in order, lazy ones by their prefix") {
  const Scene scene;
  const std::string other = scene.directory.Write("lib.bc", "bc");
  CHECK(scene.Compile({scene.module, "lazy:" + other}).exit_code == 0);
  CHECK(Library().inputs == Words{"whole " + scene.module + "=ir", "lazy " + other + "=bc"});
  CHECK_FALSE(Library().libdevice);
}

TEST_CASE("nvvm asks libNVVM for LTO-IR by an option, and given options come last") {
  const Scene scene;
  CHECK(scene.Compile({scene.module, "--emit", "ltoir", "--libdevice", "--option=-opt=0"})
            .exit_code == 0);
  CHECK(Library().options == Words{"-arch=compute_90", "-gen-lto", "-opt=0"});
  CHECK(Library().libdevice);
  CHECK(Library().wanted == CCCL_CACHE_LTOIR);
}

TEST_CASE("nvvm names a module that it can't read without the prefix, and asks nobody") {
  const Scene scene;
  const Said said = scene.Compile({"lazy:" + scene.directory / "absent.bc"});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "can't read " + scene.directory / "absent.bc"));
  CHECK(Library().called.empty());
}

TEST_CASE("nvvm does not print an artifact and an object to one standard output") {
  const Scene scene;
  const Words words = {"nvvm", scene.module, "--arch", "compute_90", "-o", "-"};
  CHECK(RunCommand(words, {.json = true}).exit_code == 2);
  CHECK(RunCommand(words).output == "ptx");
}

TEST_CASE("nvvm without a file or with a wrong toolchain is a wrong command line") {
  const Scene scene;
  CHECK(RunCommand({"nvvm", "--arch", "compute_90"}).exit_code == 2);
  CHECK(scene.Compile({scene.module, "--toolchain", "x"}).exit_code == 2);
}

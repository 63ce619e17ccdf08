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
    Library().result.artifacts = {{CCCL_CACHE_CUBIN, "cubin"}, {CCCL_CACHE_PTX, "ptx"}};
  }

  /// `link` of files with these names, and these words behind.
  [[nodiscard]] Said Link(const Words& names, const Words& words = {}) const {
    Words all = {"link", "--arch", "sm_90", "-o", directory / "out"};
    for (const std::string& name : names) all.push_back(directory.Write(name, name));
    all.insert(all.end(), words.begin(), words.end());
    return RunCommand(all);
  }

  cccl_cache::daemon::TemporaryDirectory directory;
};

}  // namespace

TEST_CASE("link tells the type of an input from its extension, else leaves it to the daemon") {
  const Scene scene;
  const Words names = {"a.cubin", "b.ptx", "c.ltoir", "d.fatbin", "e.o",
                       "f.a",     "g.lib", "h.bin",   "ptx"};
  CHECK(scene.Link(names).exit_code == 0);
  const std::string types = "123456600";
  REQUIRE(Library().inputs.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    CHECK(Library().inputs[i] ==
          types.substr(i, 1) + " " + scene.directory / names[i] + "=" + names[i]);
  }
}

TEST_CASE("link asks nvJitLink for PTX by an option, and given options come last") {
  const Scene scene;
  CHECK(scene.Link({"a.ltoir"}, {"--emit", "ptx", "--option=-lto"}).exit_code == 0);
  CHECK(Library().options == Words{"-arch=sm_90", "-ptx", "-lto"});
  CHECK(Library().wanted == CCCL_CACHE_PTX);
}

TEST_CASE("link and nvvm say of a source that it must be built first, and ask nobody") {
  const Scene scene;
  const std::string source = scene.directory.Write("k.cu", "source");
  for (const char* command : {"link", "nvvm"}) {
    const Said said = RunCommand({command, source, "--arch", "compute_90"});
    CHECK(said.exit_code == 2);
    CHECK(Has(said.errors, source + " is CUDA C++: build it first (cccl-cache-cli build"));
  }
  CHECK(Library().called.empty());
}

TEST_CASE("link names an input that it can't read, and asks nobody") {
  const Scene scene;
  const Said said = RunCommand({"link", scene.directory / "absent.o", "--arch", "sm_90"});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "absent.o: No such file or directory"));
  CHECK(Library().called.empty());
}

TEST_CASE("link does not print an artifact and an object to one standard output") {
  const Scene scene;
  const Words words = {"link", scene.directory.Write("a.o", "o"), "--arch", "sm_90", "-o", "-"};
  CHECK(RunCommand(words, {.json = true}).exit_code == 2);
  CHECK(RunCommand(words).output == "cubin");
}

TEST_CASE("link without a file or with a wrong toolchain is a wrong command line") {
  const Scene scene;
  CHECK(RunCommand({"link", "--arch", "sm_90"}).exit_code == 2);
  CHECK(scene.Link({"a.o"}, {"--toolchain", "x"}).exit_code == 2);
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace {

struct Scene {
  Scene() {
    unsetenv("NVRTC_APPEND_FLAGS");
    Library() = FakeLibrary();
    Library().result.artifacts = {{CCCL_CACHE_CUBIN, "cubin"}, {CCCL_CACHE_LTOIR, "ltoir"}};
  }

  /// `build` of a source, with these words behind.
  [[nodiscard]] Said Build(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"build", source, "--arch", "sm_90", "-o", output};
    all.insert(all.end(), words.begin(), words.end());
    return RunCommand(all);
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  std::string source = directory.Write("k.cu", "source");
  std::string output = directory / "out";
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("build turns what it is given into NVRTC's options, the given ones last") {
  const Scene scene;
  CHECK(scene.Build({"-I", "inc", "-D", "A=1", "--std", "c++17", "--option=-G"}).exit_code == 0);
  CHECK(Library().options == Words{"--gpu-architecture=sm_90", "--std=c++17", "--include-path=inc",
                                   "--define-macro=A=1", "-G"});
  CHECK(Library().source == "source");
  CHECK(Library().name == scene.source);
  CHECK(Library().wanted == CCCL_CACHE_CUBIN);
  CHECK(std::filesystem::exists(scene.output));
}

TEST_CASE("build asks NVRTC for what the artifact needs") {
  const Scene scene;
  CHECK(scene.Build({"--emit", "ltoir"}).exit_code == 0);
  CHECK(Library().options.back() == "-dlto");
  Library().result.artifacts = {{CCCL_CACHE_OPTIXIR, "ir"}};
  CHECK(scene.Build({"--emit", "optixir"}).exit_code == 0);
  CHECK(Library().options.back() == "--optix-ir");
}

TEST_CASE("build reads headers under the names they are given") {
  const Scene scene;
  const std::string header = scene.directory.Write("inc/a.h", "contents");
  CHECK(scene.Build({"--header", "a.h=" + header, "--name", "other.cu"}).exit_code == 0);
  CHECK(Library().inputs == Words{"header a.h=contents"});
  CHECK(Library().name == "other.cu");
}

TEST_CASE("build takes a header without a name for a wrong command line, one that is gone not") {
  const Scene scene;
  for (const char* wrong : {"a.h", "=a.h"}) {
    const Said said = scene.Build({"--header", wrong});
    CHECK(said.exit_code == 2);
    CHECK(Has(said.errors, "write NAME=FILE"));
  }
  CHECK(scene.Build({"--header", "a.h=" + scene.directory / "absent"}).exit_code == 5);
  CHECK(Library().called.empty());
}

TEST_CASE("build sends what NVRTC would read in the environment") {
  const Scene scene;
  CHECK(scene.Build({}).exit_code == 0);
  CHECK(Library().environment.empty());
  setenv("NVRTC_APPEND_FLAGS", "-G", 1);
  CHECK(scene.Build({}).exit_code == 0);
  unsetenv("NVRTC_APPEND_FLAGS");
  CHECK(Library().environment == "NVRTC_APPEND_FLAGS=-G");
  setenv("NVRTCWIZ", "1", 1);
  CHECK(scene.Build({}).exit_code == 0);
  unsetenv("NVRTCWIZ");
  CHECK(Library().environment == "NVRTCWIZ=1");
}

TEST_CASE("build does not print an artifact and an object to one standard output") {
  const Scene scene;
  const Said said =
      RunCommand({"build", scene.source, "--arch", "sm_90", "-o", "-"}, {.json = true});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "both want standard output"));
  CHECK(RunCommand({"build", scene.source, "--arch", "sm_90", "-o", "-"}).output == "cubin");
}

TEST_CASE("build names a source that it can't read, and asks nobody") {
  const Scene scene;
  const Said said = RunCommand({"build", scene.directory / "absent.cu", "--arch", "sm_90"});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "absent.cu: No such file or directory"));
  CHECK(Library().called.empty());
}

TEST_CASE("build that is asked about is explained and writes nothing") {
  const Scene scene;
  const Said said =
      RunCommand({"build", scene.source, "--arch", "sm_90", "-o", scene.output}, {.explain = true});
  CHECK(said.exit_code == 0);
  CHECK(Library().called == "explain_nvrtc");
  CHECK_FALSE(std::filesystem::exists(scene.output));
  Library().failures = {{"explain_nvrtc", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"build", scene.source, "--arch", "sm_90"}, {.explain = true}).exit_code == 4);
}

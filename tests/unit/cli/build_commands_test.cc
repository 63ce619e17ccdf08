// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace build_commands_test {

namespace {

struct Scene {
  Scene() {
    unsetenv("NVRTC_APPEND_FLAGS");
    Library() = FakeLibrary();
    Library().result.artifacts = {{CCCL_CACHE_CUBIN, "cubin"}, {CCCL_CACHE_LTOIR, "ltoir"}};
  }

  /// Runs `build` for the source, with these further arguments.
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

TEST_CASE("build turns its arguments into NVRTC's options, and puts --option arguments last") {
  const Scene scene;
  const Said said = scene.Build({"-I", "a", "-Ib", "-D", "X=1", "-DY", "--std", "c++17",
                                 "--option=-G", "--name-expression", "f<int>"});
  CHECK(said.exit_code == 0);
  CHECK((said.output + said.errors).empty());
  CHECK(Library().options == Words{"--gpu-architecture=sm_90", "--std=c++17", "--include-path=a",
                                   "--include-path=b", "--define-macro=X=1", "--define-macro=Y",
                                   "-G"});
  CHECK(Library().name_expressions == Words{"f<int>"});
  CHECK(Library().toolchain_headers);
  CHECK(Library().source == "source");
  CHECK(Library().name == scene.source);
  CHECK(Library().wanted == CCCL_CACHE_CUBIN);
  CHECK(std::filesystem::exists(scene.output));
}

TEST_CASE("build adds NVRTC's options for the artifact") {
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

TEST_CASE("a cubin for a virtual architecture is a usage error before anything is compiled") {
  const Scene scene;
  const Said said = RunCommand({"build", scene.source, "--arch", "compute_90"});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "--arch compute_90 is for --emit ptx: a cubin needs --arch sm_90"));
  CHECK(Library().called.empty());
  CHECK(RunCommand(
            {"build", scene.source, "--arch", "compute_90", "--emit", "ltoir", "-o", scene.output})
            .exit_code == 0);
}

TEST_CASE("a --header without a name is a usage error, a missing header file is not") {
  const Scene scene;
  for (const char* wrong : {"a.h", "=a.h"}) {
    const Said said = scene.Build({"--header", wrong});
    CHECK(said.exit_code == 2);
    CHECK(Has(said.errors, "write NAME=FILE"));
  }
  CHECK(scene.Build({"--header", "a.h=" + scene.directory / "absent"}).exit_code == 5);
  CHECK(Library().called.empty());
}

TEST_CASE("build sends NVRTC's environment variables") {
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

TEST_CASE("build refuses to print an artifact and JSON to the same standard output") {
  const Scene scene;
  const Said said =
      RunCommand({"build", scene.source, "--arch", "sm_90", "-o", "-"}, {.json = true});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "both want standard output"));
  CHECK(RunCommand({"build", scene.source, "--arch", "sm_90", "-o", "-"}).output == "cubin");
}

TEST_CASE("build names an unreadable source, and does not ask the daemon") {
  const Scene scene;
  const Said said = RunCommand({"build", scene.directory / "absent.cu", "--arch", "sm_90"});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "absent.cu: No such file or directory"));
  CHECK(Library().called.empty());
}

TEST_CASE("the option --socket is accepted before and after the command") {
  const Scene scene;
  const Words build = {"build", scene.source, "--arch", "sm_90", "-o", scene.output};
  for (const Words& words : {Words{"--socket", "/s"}, Words{"--socket=/s"}}) {
    for (const bool before : {true, false}) {
      Words all = build;
      all.insert(before ? all.begin() : all.end(), words.begin(), words.end());
      Library().socket = "";
      CHECK(RunCommand(all).exit_code == 0);
      CHECK(Library().socket == "/s");
    }
  }
}

TEST_CASE("the option --arch native without a driver names the remedy") {
  if (access("/dev/nvidiactl", F_OK) == 0) return;  // there is a driver
  const Scene scene;
  const Said said = RunCommand({"build", scene.source, "--arch", "native", "-o", scene.output});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "--arch sm_90"));
}

TEST_CASE("explain accepts a build, link or nvvm command, and writes no file") {
  const Scene scene;
  const Said said =
      RunCommand({"build", scene.source, "--arch", "sm_90", "-o", scene.output}, {.explain = true});
  CHECK(said.exit_code == 0);
  CHECK(Library().called == "explain_nvrtc");
  CHECK_FALSE(std::filesystem::exists(scene.output));
  for (const std::string command : {"link", "nvvm"}) {
    RunCommand({command, scene.directory.Write("a.o", "o"), "--arch", "x"}, {.explain = true});
    CHECK(Library().called == "explain_" + command);
  }
  Library().failures = {{"explain_nvrtc", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"build", scene.source, "--arch", "sm_90"}, {.explain = true}).exit_code == 4);
}

namespace {

/// Runs a command in this directory.
Said RunIn(const std::string& directory, const Words& words) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory);
  Said said = RunCommand(words);
  std::filesystem::current_path(before);
  return said;
}

struct LinkCommandScene {
  LinkCommandScene() {
    Library() = FakeLibrary();
    Library().result.artifacts = {{CCCL_CACHE_CUBIN, "cubin"}, {CCCL_CACHE_PTX, "ptx"}};
  }

  /// Runs `link` for new files with these names, with these further arguments.
  [[nodiscard]] Said Link(const Words& names, const Words& words = {}) const {
    Words all = {"link", "--arch", "sm_90", "-o", directory / "out"};
    for (const std::string& name : names) all.push_back(directory.Write(name, name));
    all.insert(all.end(), words.begin(), words.end());
    return RunCommand(all);
  }

  cccl_cache::daemon::TemporaryDirectory directory;
};

}  // namespace

TEST_CASE("link takes an input's type from its extension, else leaves it to the daemon") {
  const LinkCommandScene scene;
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

TEST_CASE("a result without -o is written to the working directory, and named after the source") {
  const LinkCommandScene scene;
  for (const char* name : {"stats", "link", "k.cu"}) scene.directory.Write(name, name);
  CHECK(RunIn(scene.directory.path(), {"build", "k.cu", "--arch", "sm_90"}).exit_code == 0);
  CHECK(std::filesystem::exists(scene.directory / "k.cubin"));
  SECTION("a file may be named like a command") {
    const Words link = {"link", "stats", "link", "--arch", "sm_90"};
    CHECK(RunIn(scene.directory.path(), link).exit_code == 0);
    CHECK(Library().inputs == Words{"0 stats=stats", "0 link=link"});
    CHECK(std::filesystem::exists(scene.directory / "linked.cubin"));
  }
}

TEST_CASE("link asks nvJitLink for PTX by an option, and --option arguments come last") {
  const LinkCommandScene scene;
  CHECK(scene.Link({"a.ltoir"}, {"--emit", "ptx", "--option=-lto"}).exit_code == 0);
  CHECK(Library().options == Words{"-arch=sm_90", "-ptx", "-lto"});
  CHECK(Library().wanted == CCCL_CACHE_PTX);
}

TEST_CASE("link and nvvm refuse a source that must be built first, without asking the daemon") {
  const LinkCommandScene scene;
  const std::string source = scene.directory.Write("k.cu", "source");
  for (const char* command : {"link", "nvvm"}) {
    const Said said = RunCommand({command, source, "--arch", "compute_90"});
    CHECK(said.exit_code == 2);
    CHECK(Has(said.errors, source + " is CUDA C++: build it first (cccl-cache-cli build"));
  }
  CHECK(Library().called.empty());
}

TEST_CASE("link names an unreadable input, and does not ask the daemon") {
  const LinkCommandScene scene;
  const Said said = RunCommand({"link", scene.directory / "absent.o", "--arch", "sm_90"});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "absent.o: No such file or directory"));
  CHECK(Library().called.empty());
}

TEST_CASE("link refuses to print an artifact and JSON to the same standard output") {
  const LinkCommandScene scene;
  const Words words = {"link", scene.directory.Write("a.o", "o"), "--arch", "sm_90", "-o", "-"};
  CHECK(RunCommand(words, {.json = true}).exit_code == 2);
  CHECK(RunCommand(words).output == "cubin");
}

TEST_CASE("link without a file or with a wrong toolchain is a usage error") {
  const LinkCommandScene scene;
  CHECK(RunCommand({"link", "--arch", "sm_90"}).exit_code == 2);
  CHECK(scene.Link({"a.o"}, {"--toolchain", "x"}).exit_code == 2);
}

namespace {

struct NvvmCommandScene {
  NvvmCommandScene() {
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
  const NvvmCommandScene scene;
  const std::string other = scene.directory.Write("lib.bc", "bc");
  CHECK(scene.Compile({scene.module, "lazy:" + other}).exit_code == 0);
  CHECK(Library().inputs == Words{"whole " + scene.module + "=ir", "lazy " + other + "=bc"});
  CHECK_FALSE(Library().libdevice);
}

TEST_CASE("nvvm asks libNVVM for LTO-IR by an option, and --option arguments come last") {
  const NvvmCommandScene scene;
  CHECK(scene.Compile({scene.module, "--emit", "ltoir", "--libdevice", "--option=-opt=0"})
            .exit_code == 0);
  CHECK(Library().options == Words{"-arch=compute_90", "-gen-lto", "-opt=0"});
  CHECK(Library().libdevice);
  CHECK(Library().wanted == CCCL_CACHE_LTOIR);
}

TEST_CASE("nvvm names an unreadable module without the prefix, and does not ask the daemon") {
  const NvvmCommandScene scene;
  const Said said = scene.Compile({"lazy:" + scene.directory / "absent.bc"});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "can't read " + scene.directory / "absent.bc"));
  CHECK(Library().called.empty());
}

TEST_CASE("nvvm refuses to print an artifact and JSON to the same standard output") {
  const NvvmCommandScene scene;
  const Words words = {"nvvm", scene.module, "--arch", "compute_90", "-o", "-"};
  CHECK(RunCommand(words, {.json = true}).exit_code == 2);
  CHECK(RunCommand(words).output == "ptx");
}

TEST_CASE("nvvm without a file or with a wrong toolchain is a usage error") {
  const NvvmCommandScene scene;
  CHECK(RunCommand({"nvvm", "--arch", "compute_90"}).exit_code == 2);
  CHECK(scene.Compile({scene.module, "--toolchain", "x"}).exit_code == 2);
}

}  // namespace build_commands_test

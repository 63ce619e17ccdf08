// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/unit/compile/compile_fixture.h"
#include "tests/unit/compile/directory_job_files.h"
#include "tests/unit/compile/fake_job_files.h"
#include "tests/unit/compile/raw_nvrtc.h"
#include "tests/unit/compile/real_nvrtc.h"

namespace cccl_cache::daemon::nvrtc_files_test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using cccl_cache::ArtifactKind;

/// A tree of headers: directory 0 is the program's, and 1 and 2 are include directories.
class Tree {
 public:
  Tree() {
    for (const char* root : {"0", "1", "2", "elsewhere/deep"}) fs::create_directories(Root(root));
  }

  Tree& Write(const std::string& name, const std::string& text) {
    directory_.Write(name, text);
    return *this;
  }
  Tree& Link(const std::string& name, const std::string& target) {
    fs::create_symlink(target, Root(name));
    return *this;
  }
  Tree& HardLink(const std::string& name, const std::string& target) {
    fs::create_hard_link(Root(target), Root(name));
    return *this;
  }
  [[nodiscard]] std::string Root(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

/// Returns PTX and log, or the error.
std::string Outcome(const Result<CompileOutput>& output) {
  if (!output.ok()) return "error: " + output.error().message;
  return PartOf(output, ArtifactKind::kPtx) + "\n" + output->artifact->log;
}

/// Compiles a source with headers that the compiler asks the daemon for. Checks that the result is
/// the same with headers of the toolchain, which the compiler opens itself.
std::string Compile(RealNvrtc& nvrtc, const Tree& tree, const std::string& body,
                    std::vector<std::string> options = {"-I/cccl-root-1", "-I/cccl-root-2"}) {
  options.insert(options.end(), {"-arch=compute_90", "-frandom-seed=1"});
  CompileJob direct = nvrtc.Job(body, options);
  CompileJob asked = direct;
  auto toolchain = std::make_shared<Toolchain>(*direct.toolchain);
  auto files = std::make_shared<DirectoryJobFiles>();
  for (const char* root : {"0", "1", "2"}) {
    const std::string visible = std::string("/cccl-root-") + root;
    direct.mounts.push_back({visible, tree.Root(root), true});
    toolchain->headers.push_back({tree.Root(root), {}});
    asked.mounts.push_back({visible, "", false});
    files->Show(visible, tree.Root(root));
  }
  direct.toolchain = toolchain;
  asked.files = files;
  const std::string outcome = Outcome(nvrtc.Compile(asked));
  CHECK(outcome == Outcome(nvrtc.Compile(direct)));
  return outcome;
}

const std::string kKernel = "\nextern \"C\" __global__ void Kernel(int* out) { *out = VALUE; }\n";

TEST_CASE("NVRTC compiles with headers that exist only in the daemon") {
  RealNvrtc nvrtc;
  CompileJob job =
      nvrtc.Job("#include \"a.h\"" + kKernel, {"-arch=compute_90", "-I/cccl-root-1", "-I/nowhere"});
  auto files = std::make_shared<FakeJobFiles>();
  files->AddFile("/cccl-root-1/a.h", "#include \"sub/b.h\"\n");
  files->AddFile("/cccl-root-1/sub/b.h", std::string(300'000, '\n') + "#define VALUE 4711\n");
  job.files = files;
  const Result<CompileOutput> output = nvrtc.Compile(job);
  CHECK_THAT(Outcome(output), Contains("4711"));
}

TEST_CASE("NVRTC finds the same files by questions to the daemon as by opening them") {
  RealNvrtc nvrtc;
  Tree tree;
  SECTION("#include_next") {
    tree.Write("1/a.h", "#include_next <a.h>\n").Write("2/a.h", "#define VALUE 4711\n");
    CHECK_THAT(Compile(nvrtc, tree, "#include <a.h>" + kKernel), Contains("4711"));
  }
  SECTION("#include_next with a directory that is listed twice") {
    tree.Write(
            "1/a.h",
            "#ifdef ONCE\n#define VALUE 4711\n#else\n#define ONCE\n#include_next <a.h>\n#endif\n")
        .Write("2/a.h", "#define VALUE 4712\n");
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{"-I/cccl-root-1", "-I/cccl-root-1", "-I/cccl-root-2"},
          std::vector<std::string>{"-I/cccl-root-1", "-I/cccl-root-2", "-I/cccl-root-1"}}) {
      Compile(nvrtc, tree, "#include <a.h>" + kKernel, options);
    }
  }
  SECTION("a directory under two names") {
    fs::remove(tree.Root("2"));
    tree.Link("2", "1").Write(
        "1/a.h",
        "#ifdef ONCE\n#define VALUE 4711\n#else\n#define ONCE\n#include_next <a.h>\n#endif\n");
    Compile(nvrtc, tree, "#include <a.h>" + kKernel);
  }
  SECTION(".., also after a symlink") {
    tree.Write("1/sub/a.h", "#include \"../b.h\"\n").Write("1/b.h", "#define VALUE 4711\n");
    CHECK_THAT(Compile(nvrtc, tree, "#include <sub/a.h>" + kKernel), Contains("4711"));
    tree.Write("1/elsewhere/deep/c.h", "#include \"../d.h\"\n")
        .Write("1/elsewhere/d.h", "#define VALUE 4712\n")
        .Link("1/link", "elsewhere/deep");
    CHECK_THAT(Compile(nvrtc, tree, "#include <link/c.h>" + kKernel), Contains("4712"));
  }
  SECTION("headers beside the program, and by absolute name") {
    tree.Write("0/a.h", "#include \"/cccl-root-2/b.h\"\n").Write("2/b.h", "#define VALUE 4711\n");
    CHECK_THAT(Compile(nvrtc, tree, "#include \"a.h\"" + kKernel), Contains("4711"));
  }
  SECTION("__has_include, a header that is missing, one that is a directory, __FILE__") {
    tree.Write("1/a.h", "#define VALUE sizeof(__FILE__)\n").Write("1/d.h/x", "");
    CHECK_THAT(Compile(nvrtc, tree,
                       "#if __has_include(<a.h>) && !__has_include(<b.h>)\n#include <a.h>\n#endif" +
                           kKernel),
               Contains("24"));
    CHECK_THAT(Compile(nvrtc, tree, "#include <missing.h>"), Contains("missing.h"));
    Compile(nvrtc, tree, "#include <d.h>");
    Compile(nvrtc, tree,
            "#if __has_include(<d.h>)\n#define VALUE 1\n#else\n#define VALUE 2\n#endif" + kKernel);
  }
  SECTION("a warning and an error in a header") {
    tree.Write("1/a.h", "#define VALUE no_such_name\n#warning beware\n");
    CHECK_THAT(Compile(nvrtc, tree, "#include <a.h>" + kKernel),
               Contains("/cccl-root-1/a.h") && Contains("no_such_name"));
  }
}

TEST_CASE("NVRTC treats links to one file as that file, and copies as two files") {
  RealNvrtc nvrtc;
  Tree tree;
  const std::string counted =
      "#pragma once\n#ifdef VALUE\n#undef VALUE\n#define VALUE 4712\n#else\n#define VALUE "
      "4711\n#endif\n";
  const std::string both = "#include \"a.h\"\n#include \"b.h\"" + kKernel;
  tree.Write("1/a.h", counted);
  SECTION("hard link") {
    tree.HardLink("1/b.h", "1/a.h");
    CHECK_THAT(Compile(nvrtc, tree, both), Contains("4711"));
  }
  SECTION("symlink") {
    tree.Link("1/b.h", "a.h");
    CHECK_THAT(Compile(nvrtc, tree, both), Contains("4711"));
  }
  SECTION("copy") {
    tree.Write("1/b.h", counted);
    Compile(nvrtc, tree, both);
  }
}

/// Compiles a program under this name in root 0, with an inline header. Checks that the result is
/// the same as when NVRTC opens all files itself.
std::string CompileAsRaw(RealNvrtc& nvrtc, const Tree& tree, const std::string& name,
                         const std::string& body) {
  CompileJob job = nvrtc.Job(body, {"-arch=compute_90", "-frandom-seed=1", "-I" + tree.Root("1")});
  auto request = std::make_shared<cccl_cache::BuildRequest>(*job.request);
  std::get<cccl_cache::NvrtcProgram>(request->program).headers = {
      {"inline.h", "#define VALUE 4713\n"}};
  job.request = request;
  job.program_name = name;
  job.visible_working_directory = tree.Root("0");
  const Result<WorkerReply> raw = CompileRaw(job);
  REQUIRE(raw.ok());
  auto files = std::make_shared<DirectoryJobFiles>();
  for (const char* root : {"0", "1"}) files->Show(tree.Root(root), tree.Root(root));
  job.files = files;
  const std::string outcome = Outcome(nvrtc.Compile(job));
  CHECK(outcome == (raw->parts.empty() ? "" : raw->parts.front().bytes) + "\n" + raw->log);
  return outcome;
}

/// Returns a program that includes `header`. VALUE is 4711 if that header is the program itself.
std::string Including(const std::string& header) {
  return "#ifdef SEEN\n#define VALUE 4711\n#else\n#define SEEN\n#include " + header + kKernel +
         "#endif\n";
}

TEST_CASE("a program that includes itself or an inline header compiles as in raw NVRTC") {
  RealNvrtc nvrtc;
  Tree tree;
  const std::string absolute = tree.Root("0") + "/program.cu";
  const bool beside = GENERATE(false, true);
  if (beside) {
    tree.Write("0/program.cu", "#define VALUE 4712\n").Write("0/inline.h", "#define VALUE 4714\n");
  }
  for (const std::string& name : {absolute, std::string("program.cu"), std::string()}) {
    for (const std::string& header :
         {std::string("\"program.cu\""), std::string("<program.cu>"), "\"" + absolute + "\"",
          std::string("\"./program.cu\""), std::string("\"inline.h\""),
          std::string("\"./inline.h\""), std::string("\"default_program\"")}) {
      INFO(name << " includes " << header << ", files beside it: " << beside);
      CompileAsRaw(nvrtc, tree, name, Including(header));
    }
  }
  CHECK_THAT(CompileAsRaw(nvrtc, tree, absolute, Including("\"program.cu\"")),
             Contains(beside ? "4712" : "cannot open source file"));
}

TEST_CASE("#pragma once in a program that includes its own name works as in raw NVRTC") {
  RealNvrtc nvrtc;
  Tree tree;
  const std::string body =
      "#pragma once\n#include \"program.cu\"\n#ifndef VALUE\n#define VALUE "
      "4711\n#endif" +
      kKernel;
  SECTION("the same text") { tree.Write("0/program.cu", body); }
  SECTION("another text, as a hard link in both directories") {
    tree.Write("1/program.cu", "#pragma once\n#define VALUE 4712\n")
        .HardLink("0/program.cu", "1/program.cu");
  }
  CompileAsRaw(nvrtc, tree, tree.Root("0") + "/program.cu", body);
  CompileAsRaw(nvrtc, tree, tree.Root("0") + "/program.cu", "#include <program.cu>\n" + body);
}

}  // namespace
}  // namespace cccl_cache::daemon::nvrtc_files_test

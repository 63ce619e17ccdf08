// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/proto/parsed.h"

namespace cccl_cache::nvrtc_options_test {
namespace {

constexpr BuildKind kNvrtc = BuildKind::kNvrtc;

TEST_CASE("all spellings of an architecture are equal") {
  for (const Texts& options :
       {Texts{"-arch=sm_90"}, Texts{"-arch", "sm_90"}, Texts{"--gpu-architecture=sm_90"},
        Texts{"--gpu-architecture", "sm_90"}, Texts{" -arch=sm_90\t"}, Texts{"-arch", " sm_90 "}}) {
    REQUIRE(Canonical(kNvrtc, options) == Texts{"--gpu-architecture=sm_90"});
  }
}

TEST_CASE("spellings unknown to NVRTC are not normalised") {
  for (const char* option : {"--arch=sm_90", "-gpu-architecture=sm_90", "-std", "--lineinfo",
                             "-include/x.h", "--define-macroX", "-archsm_90", "-opt-info"}) {
    REQUIRE(Canonical(kNvrtc, {option}) == Texts{option});
  }
}

TEST_CASE("macros keep their order and their text") {
  REQUIRE(Canonical(kNvrtc, {"-DA=1", "-UA", "-D", "B", "--define-macro=C= x", "-D=D", "-D E=2"}) ==
          Texts{"--define-macro=A=1", "--undefine-macro=A", "--define-macro=B",
                "--define-macro=C= x", "--define-macro=D", "--define-macro=E=2"});
}

TEST_CASE("the argument after an option is its value, whatever it looks like") {
  const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {"-I", "-G", "-D", "--pch"});
  REQUIRE(parsed.size() == 2);
  REQUIRE(parsed[0].canonical == "--include-path=-G");
  REQUIRE(parsed[1].canonical == "--define-macro=--pch");
}

TEST_CASE("header directories are recognised in every spelling") {
  const std::vector<ParsedOption> parsed =
      Parsed(kNvrtc, {"-I/a", "-I", "/b", "--include-path=/c", "-I=/d", "-I"});
  REQUIRE(parsed.size() == 5);
  const Texts expected{"/a", "/b", "/c", "/d", ""};
  for (size_t i = 0; i < parsed.size(); ++i) {
    REQUIRE(parsed[i].rule != nullptr);
    REQUIRE(parsed[i].rule->names_directory);
    REQUIRE(parsed[i].value == expected[i]);
  }
}

TEST_CASE("the option --pre-include names a file") {
  const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {"-include", "a.h"});
  REQUIRE(parsed[0].rule->names_file);
  REQUIRE(parsed[0].canonical == "--pre-include=a.h");
}

TEST_CASE("only debug information and line numbers show paths") {
  for (const char* option : {"-G", "--device-debug", "-lineinfo", "--generate-line-info"}) {
    REQUIRE(Parsed(kNvrtc, {option})[0].rule->shows_paths);
  }
  REQUIRE_FALSE(Parsed(kNvrtc, {"--dopt=on"})[0].rule->shows_paths);
  REQUIRE_FALSE(Parsed(kNvrtc, {"-Xptxas=-lineinfo"})[0].rule->shows_paths);
}

TEST_CASE("the directory for the compiler's own headers is named once, and not empty") {
  const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {"--use-bundled-headers=/tmp/x1"});
  REQUIRE(parsed.size() == 1);
  REQUIRE(parsed[0].rule->names_scratch);
  REQUIRE(parsed[0].value == "/tmp/x1");
  REQUIRE(Refused(kNvrtc, {"--use-bundled-headers=/a", "--use-bundled-headers=/b"}) ==
          "--use-bundled-headers=/b");
  for (const char* option : {"--use-bundled-headers", "--use-bundled-headers="}) {
    REQUIRE(Parsed(kNvrtc, {option})[0].rule == nullptr);
    REQUIRE(Canonical(kNvrtc, {option}) == Texts{option});
  }
}

TEST_CASE("a build with --no-cache is not cached") {
  for (const char* option : {"--no-cache", "-no-cache", "--no-cache=true"}) {
    const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {option});
    REQUIRE(parsed[0].rule->effect == OptionEffect::kUncacheable);
    REQUIRE_FALSE(parsed[0].rule->reason.empty());
  }
}

TEST_CASE("options by which NVRTC writes or reads files itself are refused") {
  for (const char* option :
       {"--time=/tmp/t", "-time=/tmp/t", " --time=/tmp/t", "--fdevice-time-trace=/tmp/t",
        "-fdevice-time-trace=/tmp/t", "--create-pch=/tmp/p", "-create-pch=/tmp/p",
        "--use-pch=/tmp/p", "-use-pch=/tmp/p", "\t-use-pch=p\n"}) {
    REQUIRE(Refused(kNvrtc, {"-arch=sm_90", option}) == option);
    REQUIRE(Refused(kNvrtc, {"--pch", option}) == option);
  }
}

TEST_CASE("options for NVRTC's automatic precompiled headers are ignored") {
  const Texts without = Canonical(kNvrtc, {"-arch=sm_90", "-G"});
  for (const Texts& options : std::vector<Texts>{{"--pch"},
                                                 {"-pch"},
                                                 {"\t-pch\n"},
                                                 {"--pch", "--pch"},
                                                 {"--pch-dir=/tmp"},
                                                 {"-pch-dir=/tmp"},
                                                 {"--pch-verbose=true"},
                                                 {"-pch-verbose", "false"},
                                                 {"--pch-messages=false"},
                                                 {"-pch-messages", " true "},
                                                 {"--instantiate-templates-in-pch=true"},
                                                 {"-instantiate-templates-in-pch", "false"}}) {
    CAPTURE(options);
    Texts all = {"-arch=sm_90"};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("-G");
    REQUIRE(Canonical(kNvrtc, all) == without);
  }
}

TEST_CASE("options for precompiled headers that NVRTC would refuse are left to the compiler") {
  for (const char* option : {"--pch=true", "-pch-dir", "--pch-dir=", "--pch-verbose=yes",
                             "--pch-messages=", "--pch-messages= true", "--pch-verbose",
                             "--instantiate-templates-in-pch=1"}) {
    CAPTURE(option);
    REQUIRE(Parsed(kNvrtc, {"-G", option}).size() == 2);
  }
  REQUIRE(Canonical(kNvrtc, {"-pch-dir", "/tmp"}) == Texts{"-pch-dir", "/tmp"});
}

TEST_CASE("a refusal shows the option and its value as they were written") {
  REQUIRE(Refused(kNvrtc, {"-Xptxas", "--options-file=/f"}) == "-Xptxas --options-file=/f");
  REQUIRE(Refused(kNvrtc, {"--ptxas-options=-o=/f"}) == "--ptxas-options=-o=/f");
}

TEST_CASE("file options are refused after each pass-through option of NVRTC") {
  REQUIRE_FALSE(Refused(kNvrtc, {"-Xptxas=-optf", "-Xptxas=/f"}).empty());
  REQUIRE_FALSE(Refused(kNvrtc, {"-Xcudafe=--list=/f"}).empty());
  REQUIRE_FALSE(Refused(kNvrtc, {"-Xcudafe", "--list=/f"}).empty());
  REQUIRE_FALSE(Refused(kNvrtc, {"-Xnvvm", "-Xopt", "-Xnvvm", "-info-output-file=/f"}).empty());
}

TEST_CASE("harmless pass-through options are passed, one argument each") {
  REQUIRE(
      Canonical(kNvrtc, {"-Xptxas", "-v", "-Xptxas=-O1", "-Xcudafe=--diag_suppress=177", "-Xnvvm",
                         "-opt=0", "-Xnvvm", "-Xopt", "-w", "-Xnvvm", "-full-inst-combine=0"}) ==
      Texts{"--ptxas-options=-v", "--ptxas-options=-O1", "-Xcudafe=--diag_suppress=177",
            "-Xnvvm=-opt=0", "-Xnvvm=-Xopt", "--disable-warnings", "-Xnvvm=-full-inst-combine=0"});
}

}  // namespace
}  // namespace cccl_cache::nvrtc_options_test

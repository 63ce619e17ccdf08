// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/client/cli_scene.h"

namespace cli_test {

namespace {

/// The last request, and the answer to it.
struct Builds {
  v1::BuildRequest seen;
  v1::BuildReply reply = HitWithCubin("the cubin");
  grpc::Status status = grpc::Status::OK;
  std::vector<std::pair<std::string, std::string>> trailers;

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.build = [this](grpc::ServerContext* context, const v1::BuildRequest& request,
                           v1::BuildReply* answer) {
      for (const auto& [name, value] : trailers) context->AddTrailingMetadata(name, value);
      seen = request;
      *answer = reply;
      return status;
    };
    return answers;
  }
};

struct Fixture : Builds, CliScene {
  Fixture() : CliScene(Answers()) {}
};

std::vector<std::string> Options(const v1::BuildRequest& request) {
  return {request.nvrtc().options().begin(), request.nvrtc().options().end()};
}

}  // namespace

TEST_CASE("build sends the command line's request and writes the artifact beside the source") {
  Fixture cli;
  cli.directory.Write("k.cu", "source");
  cli.directory.Write("h", "header");
  const CliResult result =
      cli.Run({"build", "k.cu", "--arch", "sm_90", "-I", "a", "-Ib", "-D", "X=1", "-DY", "--std",
               "c++17", "--option=-lineinfo", "--name-expression", "f<int>", "--header", "h.h=h",
               "--toolchain", "13"},
              "", {{"NVRTC_APPEND_FLAGS", "-G"}});
  CHECK(result.exit_code == 0);
  CHECK(result.output.empty());
  CHECK(result.errors.empty());
  CHECK(Contents(cli.directory / "k.cubin") == "the cubin");
  CHECK(Options(cli.seen) == Words{"--gpu-architecture=sm_90", "--std=c++17", "--include-path=a",
                                   "--include-path=b", "--define-macro=X=1", "--define-macro=Y",
                                   "-lineinfo"});
  CHECK(cli.seen.nvrtc().source().inline_bytes() == "source");
  CHECK(cli.seen.nvrtc().name() == "k.cu");
  CHECK(cli.seen.nvrtc().headers(0).name() == "h.h");
  CHECK(cli.seen.nvrtc().headers(0).contents().inline_bytes() == "header");
  CHECK(cli.seen.nvrtc().name_expressions(0) == "f<int>");
  CHECK(cli.seen.nvrtc().environment(0).value() == "-G");
  CHECK(cli.seen.nvrtc().append_toolchain_headers());
  CHECK(cli.seen.toolchain().major() == 13);
  CHECK(cli.seen.working_directory() == std::filesystem::canonical(cli.directory.path()));
  CHECK(cli.seen.wanted(0) == v1::ARTIFACT_KIND_CUBIN);
}

TEST_CASE("standard input is stdin.cu, --name is another, - is standard output") {
  Fixture cli;
  const CliResult result =
      cli.Run({"build", "-", "--arch", "sm_90", "-o", "-", "--toolchain", "12.9"}, "text");
  CHECK(result.exit_code == 0);
  CHECK(result.output == "the cubin");
  CHECK(cli.seen.nvrtc().name() == "stdin.cu");
  CHECK(cli.seen.nvrtc().source().inline_bytes() == "text");
  CHECK(cli.seen.toolchain().version() == "12.9");
  cli.Run(
      {"build", "-", "--arch", "sm_90", "-o", "o", "--name", "n.cu", "--toolchain", "0123abcd"});
  CHECK(cli.seen.nvrtc().name() == "n.cu");
  CHECK(cli.seen.toolchain().id() == "0123abcd");
}

TEST_CASE("the option --emit chooses the artifact and adds the compiler's options for it") {
  Fixture cli;
  cli.reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_LTOIR);
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "--emit", "ltoir"}).exit_code == 0);
  CHECK(Options(cli.seen) == Words{"--gpu-architecture=sm_90", "-dlto"});
  CHECK(Contents(cli.directory / "stdin.ltoir") == "the cubin");
  cli.reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_OPTIXIR);
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "--emit", "optixir"}).exit_code == 0);
  CHECK(Options(cli.seen) == Words{"--gpu-architecture=sm_90", "--optix-ir"});
  const CliResult none = cli.Run({"build", "-", "--arch", "sm_90", "--emit", "ptx"});
  CHECK(none.exit_code == 5);
  CHECK(Has(none.errors, "made no ptx for sm_90"));
}

TEST_CASE("the option --json says everything about the build, before or after the command") {
  Fixture cli;
  auto* name = cli.reply.add_lowered_names();
  name->set_expression("f<\"\t\">");
  name->set_lowered("_Zf");
  cli.reply.set_log("a \"log\"\n\xc3\xa9");
  const CliResult before = cli.Run({"--json", "build", "-", "--arch", "sm_90", "-o", "o"});
  CHECK(before.exit_code == 0);
  for (const char* part :
       {"\"key\": \"00ff\"", "\"fingerprint\": \"11ee\"", "\"outcome\": \"hit\"",
        "\"tier\": \"memory\"", "\"id\": \"22dd\"", "\"version\": \"13.0\"", "\"kind\": \"cubin\"",
        "\"size\": 9", "\"sha256\": \"7373", "\"f<\\\"\\t\\\">\": \"_Zf\"",
        "\"log\": \"a \\\"log\\\"\\n\xc3\xa9\"", "\"queue_us\": 5", "\"compile_us\": 7",
        "\"total_us\": ", "\"precompiled_headers\": false", "\"remembered\": false",
        "\"native_code\": 0", "\"reason\": \"\"", "\"request\": \"6926d1f000001\""}) {
    INFO(part);
    CHECK(Has(before.output, part));
  }
  const CliResult after = cli.Run({"build", "-", "--arch", "sm_90", "-o", "o", "--json"});
  CHECK(Has(after.output, "\"outcome\": \"hit\""));
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "-", "--json"}).exit_code == 2);
}

TEST_CASE("code that does not compile is exit 1, its log on stderr, the old file left alone") {
  Fixture cli;
  cli.directory.Write("o", "old");
  cli.reply.Clear();
  cli.reply.set_outcome(v1::OUTCOME_FAILED);
  cli.reply.set_log("k.cu(1): error");
  const CliResult result = cli.Run({"build", "-", "--arch", "sm_90", "-o", "o", "--json"});
  CHECK(result.exit_code == 1);
  CHECK(result.errors == "k.cu(1): error\n");
  CHECK(Has(result.output, "\"outcome\": \"failed\""));
  CHECK(Contents(cli.directory / "o") == "old");
}

TEST_CASE("a compiler's error about options and inputs comes with the right form") {
  Fixture cli;
  cli.directory.Write("k", "k");
  const auto told = [&](const char* command, Words words, const char* log) {
    cli.reply.Clear();
    cli.reply.set_outcome(v1::OUTCOME_FAILED);
    cli.reply.set_log(log);
    words.insert(words.begin(), {command, "k"});
    const CliResult result = cli.Run(words);
    CHECK(result.exit_code == 1);
    CHECK(result.errors.starts_with(log));
    return result.errors.substr(std::string(log).size());
  };
  const char* wrong = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
  CHECK(Has(told("build", {"--arch", "90"}, wrong), "--arch is written sm_90, or compute_90"));
  CHECK(Has(told("build", {"--arch", "8.6"}, wrong), "--arch is written sm_86, or"));
  CHECK(Has(told("build", {"--arch", "sm_999"}, wrong), "this toolchain knows no sm_999"));
  CHECK(Has(told("link", {"--arch", "90"}, "ERROR: missing option value (-arch=90)\n"), "sm_90"));
  CHECK(Has(told("link", {"--arch", "sm_90"},
                 "ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)\n"),
            "LTO-IR is linked with --option=-lto"));
  CHECK(Has(told("link", {"--arch", "sm_90", "--emit", "ptx"}, "ERROR: -ptx requires -lto\n"),
            "with --option=-lto"));
  CHECK(Has(told("link", {"--arch", "compute_90"}, "ERROR: virtual arch requires -ptx\n"),
            "--emit ptx, a cubin is made by --arch sm_90"));
  CHECK(Has(
      told("nvvm", {"--arch", "sm_90"}, "libnvvm : error: -arch=sm_90 is an unsupported option\n"),
      "libNVVM takes --arch compute_90"));
  CHECK(Has(told("build", {"--arch", "sm_90"}, "nvrtc: error: unrecognized option --x found\n"),
            "has no such option: leave it out, or name another toolchain with --toolchain"));
  CHECK(
      Has(told("nvvm", {"--arch", "compute_90"}, "libnvvm : error: -x is an unsupported option\n"),
          "has no such option"));
  CHECK(Has(told("link", {"--arch", "sm_90"},
                 "ERROR 1: bad input: does not match type NVJITLINK_INPUT_LTOIRk\n"),
            "an input is damaged"));
  CHECK(Has(told("link", {"--arch", "sm_90"},
                 "ERROR in nvvmCompileProgram: NVVM_ERROR_COMPILATION\nk: parse Malformed block\n"),
            "make it again"));
  CHECK(Has(told("link", {"--arch", "sm_90"},
                 "ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer version of nvJitLink "
                 "library\n"),
            "an input is of a newer CUDA"));
  CHECK(told("build", {"--arch", "sm_90a"}, "k(1): error: searching\n").empty());
  CHECK(told("nvvm", {"--arch", "compute_90"}, "an error in arch\n").empty());
}

TEST_CASE("a refusal is exit 4 with its reason, a broken daemon exit 5, none exit 3") {
  Fixture cli;
  const Words words = {"build", "-", "--arch", "sm_90", "-o", "o"};
  cli.status = {grpc::StatusCode::INVALID_ARGUMENT, "option --x is refused: it writes a file"};
  const CliResult refused = cli.Run(words);
  CHECK(refused.exit_code == 4);
  CHECK(refused.errors == "cccl-cache-cli: option --x is refused: it writes a file\n");
  cli.status = {grpc::StatusCode::INTERNAL, "broken"};
  CHECK(cli.Run(words).exit_code == 5);
  cli.daemon.Stop();
  const CliResult none = cli.Run(words);
  CHECK(none.exit_code == 3);
  CHECK(Has(none.errors, cli.daemon.socket()));
  CHECK(Has(none.errors, "start it"));
  CHECK(Has(none.errors, "; --fallback local compiles without one"));
  CHECK_FALSE(Has(cli.Run({"stats"}).errors, "--fallback"));
}

TEST_CASE("with --json an error is an object on standard output as well") {
  Fixture cli;
  const Words words = {"build", "-", "--arch", "sm_90", "-o", "o", "--json"};
  cli.status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"};
  cli.trailers = {{"cccl-error", "overloaded"}, {"cccl-retry-ms", "250"}};
  const CliResult refused = cli.Run(words);
  CHECK(refused.exit_code == 4);
  CHECK(refused.output ==
        "{\n  \"format_version\": 1,\n  \"error\": {\n    \"status\": \"overloaded\",\n    "
        "\"message\": \"the queue is full; --fallback local compiles without waiting\",\n    "
        "\"retry_ms\": 250\n  }\n}\n");
  CHECK(Has(refused.errors,
            "the queue is full; --fallback local compiles without waiting; come back in 250 ms"));
  cli.status = grpc::Status::OK;
  cli.trailers.clear();
  const CliResult unwritten =
      cli.Run({"build", "-", "--arch", "sm_90", "-o", "no/such/place", "--json"});
  CHECK(unwritten.exit_code == 5);
  CHECK(Has(unwritten.output, "\"outcome\": \"hit\""));
  CHECK(Has(unwritten.output, "\"message\": \"can't create no/such/place"));
  cli.daemon.Stop();
  for (const Words& command :
       {words, Words{"stats", "--json"}, Words{"health", "--json"}, Words{"toolchains", "--json"},
        Words{"explain", std::string(64, 'a'), "--json"}, Words{"deposits", "list", "--json"},
        Words{"snapshot", "create", "x", "--json"}}) {
    const CliResult none = cli.Run(command);
    INFO(command.front());
    CHECK(none.exit_code == 3);
    CHECK(Has(none.output, "\"status\": \"no-daemon\""));
    CHECK_FALSE(Has(none.output, "retry_ms"));
  }
  const CliResult absent = cli.Run({"build", "absent.cu", "--arch", "sm_90", "--json"});
  CHECK(absent.exit_code == 5);
  CHECK(Has(absent.output, "absent.cu: No such file"));
  CHECK(cli.Run({"snapshot", "create", "-", "--json"}).output.empty());
}

TEST_CASE("wrong usage is exit 2, a file that can't be read exit 5, both named") {
  Fixture cli;
  for (const Words& words :
       {Words{}, Words{"bogus"}, Words{"build", "-"}, Words{"build", "--arch", "sm_90"},
        Words{"build", "-", "--arch", "sm_90", "--emit", "exe"},
        Words{"build", "-", "--arch", "sm_90", "--toolchain", "newest"},
        Words{"build", "-", "--arch", "sm_90", "--header", "noequals"},
        Words{"build", "-", "--arch", "sm_90", "--fallback", "sometimes"},
        Words{"stats", "--json", "--openmetrics"}, Words{"explain"},
        Words{"build", "-", "--arch", "sm_90", "-o", "-", "--json"},
        Words{"build", "-", "--arch", "sm_90", "--no-such-option"}}) {
    CAPTURE(words);
    const CliResult plain = cli.Run(words);
    CHECK(plain.exit_code == 2);
    CHECK_FALSE(plain.errors.empty());
    Words with_json = words;
    with_json.push_back("--json");
    const CliResult result = cli.Run(with_json);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(result.errors.empty());
    CHECK(Has(result.output, "\"status\": \"invalid-request\""));
    CHECK(Has(result.output, "\"message\": \""));
  }
  const CliResult absent = cli.Run({"build", "absent.cu", "--arch", "sm_90"});
  CHECK(absent.exit_code == 5);
  CHECK(Has(absent.errors, "absent.cu: No such file"));
}

TEST_CASE("the output is replaced at once, devices are written to, failures named") {
  Fixture cli;
  const std::string output = cli.directory.Write("o", "old");
  std::filesystem::create_hard_link(output, cli.directory / "link");
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "o"}).exit_code == 0);
  CHECK(Contents(output) == "the cubin");
  CHECK(Contents(cli.directory / "link") == "old");
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "/dev/null"}).exit_code == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const CliResult failed = cli.Run({"build", "-", "--arch", "sm_90", "-o", "no/such/place"});
  CHECK(failed.exit_code == 5);
  CHECK(Has(failed.errors, "no/such/place: No such file"));
  std::filesystem::create_symlink("o", cli.directory / "s");
  cli.directory.Write("o", "old");
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "s"}).exit_code == 0);
  CHECK(
      std::filesystem::is_symlink(cli.directory / "s"));  // a link stays, and leads to the new one
  CHECK(Contents(output) == "the cubin");
  for (const auto& entry : std::filesystem::directory_iterator(cli.directory.path())) {
    CHECK_FALSE(Has(entry.path().filename(), "o."));  // no temporary file stays
  }
}

TEST_CASE("link takes types from extensions and names the result") {
  Fixture cli;
  cli.directory.Write("a.ltoir", "A");
  cli.directory.Write("b.bin", "B");
  CHECK(cli.Run({"link", "a.ltoir", "b.bin", "--arch", "sm_90", "--option=-lto"}).exit_code == 0);
  const v1::LinkProgram& link = cli.seen.link();
  REQUIRE(link.inputs_size() == 2);
  CHECK(link.inputs(0).type() == v1::LINK_INPUT_TYPE_LTOIR);
  CHECK(link.inputs(1).type() == v1::LINK_INPUT_TYPE_UNSPECIFIED);
  CHECK(link.inputs(1).contents().inline_bytes() == "B");
  CHECK(Words(link.options().begin(), link.options().end()) == Words{"-arch=sm_90", "-lto"});
  CHECK(Contents(cli.directory / "linked.cubin") == "the cubin");
}

TEST_CASE("nvvm takes modules in order, lazy ones and libdevice") {
  Fixture cli;
  cli.reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_PTX);
  cli.directory.Write("a.ll", "A");
  cli.directory.Write("b.bc", "B");
  CHECK(cli.Run({"nvvm", "a.ll", "lazy:b.bc", "--libdevice", "--arch", "compute_90"}).exit_code ==
        0);
  const v1::NvvmProgram& nvvm = cli.seen.nvvm();
  REQUIRE(nvvm.modules_size() == 2);
  CHECK(nvvm.modules(0).name() == "a.ll");
  CHECK(nvvm.modules(1).name() == "b.bc");
  CHECK(nvvm.modules(1).lazy());
  CHECK(nvvm.add_libdevice());
  CHECK(nvvm.options(0) == "-arch=compute_90");
  CHECK(Contents(cli.directory / "a.ptx") == "the cubin");
}

TEST_CASE("a file may be named like a command") {
  Fixture cli;
  cli.directory.Write("stats", "A");
  cli.directory.Write("link", "B");
  CHECK(cli.Run({"link", "stats", "link", "--arch", "sm_90"}).exit_code == 0);
  CHECK(cli.seen.link().inputs(1).name() == "link");
}

TEST_CASE("the option --arch native without a driver names the remedy") {
  if (access("/dev/nvidiactl", F_OK) == 0) return;  // there is one
  Fixture cli;
  const CliResult result = cli.Run({"build", "-", "--arch", "native", "-o", "o"});
  CHECK(result.exit_code == 5);
  CHECK(Has(result.errors, "--arch sm_90"));
}

}  // namespace cli_test

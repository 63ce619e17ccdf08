// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
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

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.build = [this](auto*, const v1::BuildRequest& request, v1::BuildReply* answer) {
      seen = request;
      *answer = reply;
      return grpc::Status::OK;
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

TEST_CASE("the socket is named before or after the command, or else by the environment") {
  const Fixture cli;
  const std::string place = cli.directory.path();
  const std::string socket = cli.daemon.socket();
  const Words build = {"build", "-", "--arch", "sm_90", "-o", "o"};
  const auto exit_code = [&](Words before, const Words& behind, const std::string& named = "") {
    before.insert(before.end(), build.begin(), build.end());
    before.insert(before.end(), behind.begin(), behind.end());
    return RunCli(before, place, "", {{"CCCL_CACHE_SOCKET", named}}).exit_code;
  };
  CHECK(exit_code({"--socket", socket}, {}) == 0);
  CHECK(exit_code({}, {"--socket", socket}) == 0);
  CHECK(exit_code({}, {"--socket=" + socket}) == 0);
  CHECK(exit_code({}, {}, socket) == 0);
  CHECK(exit_code({"--socket", "/nowhere"}, {}, socket) == 3);
}

TEST_CASE("each command's help shows an example") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::vector<Words> commands = {{},
                                       {"build"},
                                       {"link"},
                                       {"nvvm"},
                                       {"explain"},
                                       {"stats"},
                                       {"toolchains"},
                                       {"health"},
                                       {"deposits"},
                                       {"deposits", "list"},
                                       {"deposits", "remove"},
                                       {"snapshot"},
                                       {"snapshot", "create"},
                                       {"snapshot", "delta"},
                                       {"snapshot", "insert"},
                                       {"snapshot", "list"},
                                       {"snapshot", "verify"}};
  for (Words words : commands) {
    std::string name = "cccl-cache-cli";
    for (const std::string& word : words) name += " " + word;
    words.emplace_back("--help");
    const CliResult result = RunCli(words, directory.path());
    INFO(name);
    CHECK(result.exit_code == 0);
    const size_t example = result.output.find("Example: ");
    REQUIRE(example != std::string::npos);
    CHECK(Has(result.output.substr(example), name));
  }
}

TEST_CASE("the help says the name of a result without -o") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  CHECK(Has(RunCli({"link", "--help"}, directory.path()).output, "(default: linked.cubin"));
  CHECK(Has(RunCli({"build", "--help"}, directory.path()).output, "(default: the name of the in"));
  CHECK(Has(RunCli({"nvvm", "--help"}, directory.path()).output, "compute_NN"));
}

TEST_CASE("the command alone prints its help, and says that it did nothing") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const CliResult result = RunCli({}, directory.path());
  CHECK(result.exit_code == 2);
  CHECK(result.output.empty());
  CHECK(result.errors == RunCli({"--help"}, directory.path()).output);
}

}  // namespace cli_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/client/cli_process.h"
#include "tests/unit/client/stand_in_daemon.h"
#include "tests/unit/client/temporary_directory.h"

namespace {

using Words = std::vector<std::string>;

struct Fixture {
  v1::BuildRequest seen;
  v1::BuildReply reply = HitWithCubin("the cubin");
  grpc::Status status = grpc::Status::OK;
  TemporaryDirectory directory;
  StandInDaemon daemon{directory.File("socket"), Answers()};

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.build = [this](auto*, const v1::BuildRequest& request, v1::BuildReply* answer) {
      seen = request;
      *answer = reply;
      return status;
    };
    answers.stats = [](v1::StatsReply* answer) {
      const auto add = [&](const char* name, const char* label, double value, bool gauge) {
        v1::Statistic* statistic = answer->add_statistics();
        statistic->set_name(name);
        statistic->set_label(label);
        statistic->set_value(value);
        statistic->set_gauge(gauge);
        statistic->set_help("Help.");
      };
      add("hits_total", "memory", 5, false);
      add("compiles_total", "", 2, false);
      add("hits_total", "disk", 3, false);
      add("compile_seconds_total", "", 1.5, false);
      add("entries", "", 4, true);
      answer->set_version("9.8.7");
      return grpc::Status::OK;
    };
    answers.toolchains = [](v1::ToolchainsReply* answer) {
      v1::Toolchain* toolchain = answer->add_toolchains();
      toolchain->set_id(std::string(64, 'a'));
      toolchain->set_version("13.0");
      toolchain->set_root("/cuda");
      toolchain->set_selected_by_default(true);
      answer->add_rejected()->set_root("/home/x");
      return grpc::Status::OK;
    };
    answers.info = [](v1::InfoReply* answer) {
      answer->set_version("9.8.7");
      return grpc::Status::OK;
    };
    return answers;
  }

  CliResult Run(Words words, const std::string& input = "",
                const std::vector<std::pair<std::string, std::string>>& environment = {}) {
    words.insert(words.begin(), {"--socket", daemon.socket()});
    return RunCli(words, directory.path(), input, environment);
  }
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> Options(const v1::BuildRequest& request) {
  return {request.nvrtc().options().begin(), request.nvrtc().options().end()};
}

}  // namespace

TEST_CASE("build sends what the command line says and writes the artifact beside") {
  Fixture cli;
  Write(cli.directory.File("k.cu"), "source");
  Write(cli.directory.File("h"), "header");
  const CliResult result =
      cli.Run({"build", "k.cu", "--arch", "sm_90", "-I", "a", "-Ib", "-D", "X=1", "-DY", "--std",
               "c++17", "--option=-lineinfo", "--name-expression", "f<int>", "--header", "h.h=h",
               "--toolchain", "13"},
              "", {{"NVRTC_APPEND_FLAGS", "-G"}});
  CHECK(result.exit_code == 0);
  CHECK(result.output.empty());
  CHECK(result.errors.empty());
  CHECK(Contents(cli.directory.File("k.cubin")) == "the cubin");
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

TEST_CASE("the option --emit chooses the artifact and adds what the compiler needs for it") {
  Fixture cli;
  cli.reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_LTOIR);
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "--emit", "ltoir"}).exit_code == 0);
  CHECK(Options(cli.seen) == Words{"--gpu-architecture=sm_90", "-dlto"});
  CHECK(Contents(cli.directory.File("stdin.ltoir")) == "the cubin");
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
        "\"native_code\": 0", "\"reason\": \"\""}) {
    INFO(part);
    CHECK(Has(before.output, part));
  }
  const CliResult after = cli.Run({"build", "-", "--arch", "sm_90", "-o", "o", "--json"});
  CHECK(Has(after.output, "\"outcome\": \"hit\""));
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "-", "--json"}).exit_code == 2);
}

TEST_CASE("code that does not compile is exit 1, its log on stderr, the old file left alone") {
  Fixture cli;
  Write(cli.directory.File("o"), "old");
  cli.reply.Clear();
  cli.reply.set_outcome(v1::OUTCOME_FAILED);
  cli.reply.set_log("k.cu(1): error");
  const CliResult result = cli.Run({"build", "-", "--arch", "sm_90", "-o", "o", "--json"});
  CHECK(result.exit_code == 1);
  CHECK(result.errors == "k.cu(1): error\n");
  CHECK(Has(result.output, "\"outcome\": \"failed\""));
  CHECK(Contents(cli.directory.File("o")) == "old");
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
}

TEST_CASE("the environment names the socket where the command line does not") {
  Fixture cli;
  const Words words = {"health"};
  CHECK(RunCli(words, cli.directory.path(), "", {{"CCCL_CACHE_SOCKET", cli.daemon.socket()}})
            .exit_code == 0);
  CHECK(RunCli({"--socket", "/nowhere", "health"}, cli.directory.path(), "",
               {{"CCCL_CACHE_SOCKET", cli.daemon.socket()}})
            .exit_code == 3);
}

TEST_CASE("wrong usage is exit 2, a file that can't be read exit 5, both named") {
  Fixture cli;
  for (const Words& words :
       {Words{}, Words{"bogus"}, Words{"build", "-"}, Words{"build", "--arch", "sm_90"},
        Words{"build", "-", "--arch", "sm_90", "--emit", "exe"},
        Words{"build", "-", "--arch", "sm_90", "--toolchain", "newest"},
        Words{"build", "-", "--arch", "sm_90", "--header", "noequals"},
        Words{"stats", "--json", "--openmetrics"}}) {
    const CliResult result = cli.Run(words);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(result.errors.empty());
  }
  const CliResult absent = cli.Run({"build", "absent.cu", "--arch", "sm_90"});
  CHECK(absent.exit_code == 5);
  CHECK(Has(absent.errors, "absent.cu: No such file"));
}

TEST_CASE("the output is replaced at once, devices are written to, failures named") {
  Fixture cli;
  const std::string output = cli.directory.File("o");
  Write(output, "old");
  std::filesystem::create_hard_link(output, cli.directory.File("link"));
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "o"}).exit_code == 0);
  CHECK(Contents(output) == "the cubin");
  CHECK(Contents(cli.directory.File("link")) == "old");
  CHECK(cli.Run({"build", "-", "--arch", "sm_90", "-o", "/dev/null"}).exit_code == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const CliResult failed = cli.Run({"build", "-", "--arch", "sm_90", "-o", "no/such/place"});
  CHECK(failed.exit_code == 5);
  CHECK(Has(failed.errors, "no/such/place: No such file"));
  for (const auto& entry : std::filesystem::directory_iterator(cli.directory.path())) {
    CHECK_FALSE(Has(entry.path().filename(), "o."));  // no temporary file stays
  }
}

TEST_CASE("link tells types by extension and names the result") {
  Fixture cli;
  Write(cli.directory.File("a.ltoir"), "A");
  Write(cli.directory.File("b.bin"), "B");
  CHECK(cli.Run({"link", "a.ltoir", "b.bin", "--arch", "sm_90", "--option=-lto"}).exit_code == 0);
  const v1::LinkProgram& link = cli.seen.link();
  REQUIRE(link.inputs_size() == 2);
  CHECK(link.inputs(0).type() == v1::LINK_INPUT_TYPE_LTOIR);
  CHECK(link.inputs(1).type() == v1::LINK_INPUT_TYPE_UNSPECIFIED);
  CHECK(link.inputs(1).contents().inline_bytes() == "B");
  CHECK(Words(link.options().begin(), link.options().end()) == Words{"-arch=sm_90", "-lto"});
  CHECK(Contents(cli.directory.File("linked.cubin")) == "the cubin");
}

TEST_CASE("nvvm takes modules in order, lazy ones and libdevice") {
  Fixture cli;
  cli.reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_PTX);
  Write(cli.directory.File("a.ll"), "A");
  Write(cli.directory.File("b.bc"), "B");
  CHECK(cli.Run({"nvvm", "a.ll", "lazy:b.bc", "--libdevice", "--arch", "compute_90"}).exit_code ==
        0);
  const v1::NvvmProgram& nvvm = cli.seen.nvvm();
  REQUIRE(nvvm.modules_size() == 2);
  CHECK(nvvm.modules(0).name() == "a.ll");
  CHECK(nvvm.modules(1).name() == "b.bc");
  CHECK(nvvm.modules(1).lazy());
  CHECK(nvvm.add_libdevice());
  CHECK(nvvm.options(0) == "-arch=compute_90");
  CHECK(Contents(cli.directory.File("a.ptx")) == "the cubin");
}

TEST_CASE("a file may be named like a command") {
  Fixture cli;
  Write(cli.directory.File("stats"), "A");
  Write(cli.directory.File("link"), "B");
  CHECK(cli.Run({"link", "stats", "link", "--arch", "sm_90"}).exit_code == 0);
  CHECK(cli.seen.link().inputs(1).name() == "link");
}

TEST_CASE("statistics come for people, as JSON and as OpenMetrics") {
  Fixture cli;
  const CliResult text = cli.Run({"stats"});
  CHECK(text.exit_code == 0);
  CHECK(Has(text.output, "80.0 %"));
  const CliResult json = cli.Run({"stats", "--json"});
  CHECK(json.output ==
        "{\n  \"hits_total\": {\n    \"memory\": 5,\n    \"disk\": 3\n  },\n  \"compiles_total\": "
        "2,\n"
        "  \"compile_seconds_total\": 1.5,\n  \"entries\": 4,\n  \"version\": \"9.8.7\"\n}\n");
  const CliResult metrics = cli.Run({"stats", "--openmetrics"});
  CHECK(metrics.output ==
        "# HELP cccl_cached_hits Help.\n# TYPE cccl_cached_hits counter\n"
        "cccl_cached_hits_total{tier=\"memory\"} 5\ncccl_cached_hits_total{tier=\"disk\"} 3\n"
        "# HELP cccl_cached_compiles Help.\n# TYPE cccl_cached_compiles counter\n"
        "cccl_cached_compiles_total 2\n"
        "# HELP cccl_cached_compile_seconds Help.\n# TYPE cccl_cached_compile_seconds counter\n"
        "cccl_cached_compile_seconds_total 1.5\n"
        "# HELP cccl_cached_entries Help.\n# TYPE cccl_cached_entries gauge\n"
        "cccl_cached_entries 4\n# EOF\n");
}

TEST_CASE("toolchains and health answer for people and as JSON") {
  Fixture cli;
  CHECK(Has(cli.Run({"toolchains"}).output, "* 13.0  aaaaaaaaaaaa  /cuda"));
  const CliResult json = cli.Run({"toolchains", "--json"});
  CHECK(Has(json.output, "\"selected_by_default\": true"));
  CHECK(Has(json.output, "\"root\": \"/home/x\""));
  CHECK(Has(cli.Run({"health"}).output, "serving"));
  CHECK(Has(cli.Run({"health", "--json"}).output, "\"status\": \"serving\""));
}

TEST_CASE("each command's help shows an example") {
  const TemporaryDirectory directory;
  for (const char* command : {"build", "link", "nvvm", "stats", "toolchains", "health"}) {
    const CliResult result = RunCli({command, "--help"}, directory.path());
    CHECK(result.exit_code == 0);
    CHECK(Has(result.output, std::string("Example: cccl-cache-cli ") + command));
  }
}

TEST_CASE("the option --arch native without a driver says what to do") {
  if (access("/dev/nvidiactl", F_OK) == 0) return;  // there is one
  Fixture cli;
  const CliResult result = cli.Run({"build", "-", "--arch", "native", "-o", "o"});
  CHECK(result.exit_code == 5);
  CHECK(Has(result.errors, "--arch sm_90"));
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The commands that ask the daemon about itself.
#include <catch2/catch.hpp>

#include "tests/unit/client/cli_scene.h"

namespace cli_questions_test {

namespace {

StandInAnswers Answers() {
  StandInAnswers answers;
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
  answers.toolchains = [](const v1::ToolchainsRequest&, v1::ToolchainsReply* answer) {
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

}  // namespace

TEST_CASE("statistics come for people, as JSON and as OpenMetrics") {
  const CliScene cli(Answers());
  const CliResult text = cli.Run({"stats"});
  CHECK(text.exit_code == 0);
  CHECK(Has(text.output, "80.0 %"));
  const CliResult json = cli.Run({"stats", "--json"});
  CHECK(json.output ==
        "{\n  \"format_version\": 1,\n  \"hits_total\": {\n    \"memory\": 5,\n    \"disk\": 3\n  "
        "},\n  \"compiles_total\": "
        "2,\n"
        "  \"compile_seconds_total\": 1.5,\n  \"entries\": 4,\n  \"version\": \"9.8.7\"\n}\n");
  const CliResult metrics = cli.Run({"stats", "--openmetrics"});
  CHECK(metrics.output ==
        "# HELP cccl_cached_build Version of the daemon.\n# TYPE cccl_cached_build info\n"
        "cccl_cached_build_info{version=\"9.8.7\"} 1\n"
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
  const CliScene cli(Answers());
  CHECK(Has(cli.Run({"toolchains"}).output, "* 13.0  aaaaaaaaaaaa  /cuda"));
  const CliResult json = cli.Run({"toolchains", "--json"});
  CHECK(Has(json.output, "\"selected_by_default\": true"));
  CHECK(Has(json.output, "\"root\": \"/home/x\""));
  CHECK(Has(cli.Run({"health"}).output, "serving"));
  CHECK(Has(cli.Run({"health", "--json"}).output, "\"status\": \"serving\""));
}

TEST_CASE("health names the daemon's problem") {
  StandInAnswers answers = Answers();
  const CliResult well = CliScene(answers).Run({"health", "--json"});
  CHECK(Has(well.output, "\"toolchains\": 1,\n  \"problem\": \"\""));
  answers.toolchains = [](const auto&, auto*) { return grpc::Status::OK; };
  answers.info = [](v1::InfoReply* answer) {
    answer->set_problem("it has no toolchain");
    return grpc::Status::OK;
  };
  const CliScene cli(answers);
  const CliResult text = cli.Run({"health"});
  CHECK(text.exit_code == 0);
  CHECK(Has(text.output, ": serving\nit has no toolchain"));
  CHECK(cli.Run({"health", "--ready"}).exit_code == 1);
  const CliResult json = cli.Run({"health", "--json"});
  CHECK(Has(json.output, "\"toolchains\": 0,\n  \"problem\": \"it has no toolchain\""));
}

TEST_CASE("the environment names the socket if the command line does not") {
  const CliScene cli(Answers());
  const Words words = {"health"};
  CHECK(RunCli(words, cli.directory.path(), "", {{"CCCL_CACHE_SOCKET", cli.daemon.socket()}})
            .exit_code == 0);
  CHECK(RunCli({"--socket", "/nowhere", "health"}, cli.directory.path(), "",
               {{"CCCL_CACHE_SOCKET", cli.daemon.socket()}})
            .exit_code == 3);
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

TEST_CASE("the socket may be named before and after the command") {
  const CliScene cli(Answers());
  const std::string place = cli.directory.path();
  CHECK(RunCli({"--socket", cli.daemon.socket(), "stats"}, place).exit_code == 0);
  CHECK(RunCli({"stats", "--socket", cli.daemon.socket()}, place).exit_code == 0);
  CHECK(RunCli({"stats", "--socket=" + cli.daemon.socket()}, place).exit_code == 0);
}

TEST_CASE("the help gives the name of a result without -o") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  CHECK(Has(RunCli({"link", "--help"}, directory.path()).output, "(default: linked.cubin"));
  CHECK(Has(RunCli({"build", "--help"}, directory.path()).output, "(default: the name of the in"));
  CHECK(Has(RunCli({"nvvm", "--help"}, directory.path()).output, "compute_NN"));
}

TEST_CASE("an unknown word is named, with the most similar known one") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const auto told = [&](const Words& words) {
    const CliResult result = RunCli(words, directory.path());
    CHECK(result.exit_code == 2);
    return result.errors;
  };
  CHECK(Has(told({"helth"}), "no command is called helth; did you mean health?"));
  CHECK(Has(told({"bogus"}), "no command is called bogus; there are build, link, nvvm"));
  CHECK(Has(told({"--scoket", "x"}), "no option --scoket; did you mean --socket?"));
  CHECK(Has(told({"--scoket", "x", "health"}), "no option --scoket; did you mean --socket?"));
  CHECK(Has(told({"snapshot", "creat", "x"}),
            "snapshot: no command is called creat; did you mean create?"));
  CHECK(Has(told({"snapshot"}), "name a command: create, delta"));
  CHECK(Has(told({"health", "x"}), "health takes no argument x here"));
  CHECK(Has(told({"health", "x"}), "(cccl-cache-cli health --help)"));
}

TEST_CASE("the command alone prints its help, and fails") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const CliResult result = RunCli({}, directory.path());
  CHECK(result.exit_code == 2);
  CHECK(result.output.empty());
  CHECK(result.errors == RunCli({"--help"}, directory.path()).output);
}

TEST_CASE("a bare option of the compiler comes with its right form") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  for (const char* command : {"build", "link", "nvvm"}) {
    const CliResult result = RunCli({command, "k", "--arch", "x", "-lineinfo"}, directory.path());
    CHECK(result.exit_code == 2);
    CHECK(Has(result.errors, std::string(command) + " knows no option -lineinfo"));
    CHECK(Has(result.errors, "written --option=-lineinfo"));
  }
  const CliResult near = RunCli({"build", "k", "-arch=sm_90"}, directory.path());
  CHECK(Has(near.errors, "did you mean --arch?"));
  CHECK(Has(near.errors, "--option=-arch=sm_90"));
  CHECK_FALSE(Has(RunCli({"stats", "-lineinfo"}, directory.path()).errors, "--option"));
}

}  // namespace cli_questions_test

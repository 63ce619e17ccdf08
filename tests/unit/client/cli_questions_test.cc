// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The commands that ask the daemon about itself.
#include <catch2/catch.hpp>

#include "tests/unit/client/cli_scene.h"

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
  const CliScene cli(Answers());
  CHECK(Has(cli.Run({"toolchains"}).output, "* 13.0  aaaaaaaaaaaa  /cuda"));
  const CliResult json = cli.Run({"toolchains", "--json"});
  CHECK(Has(json.output, "\"selected_by_default\": true"));
  CHECK(Has(json.output, "\"root\": \"/home/x\""));
  CHECK(Has(cli.Run({"health"}).output, "serving"));
  CHECK(Has(cli.Run({"health", "--json"}).output, "\"status\": \"serving\""));
}

TEST_CASE("the environment names the socket where the command line does not") {
  const CliScene cli(Answers());
  const Words words = {"health"};
  CHECK(RunCli(words, cli.directory.path(), "", {{"CCCL_CACHE_SOCKET", cli.daemon.socket()}})
            .exit_code == 0);
  CHECK(RunCli({"--socket", "/nowhere", "health"}, cli.directory.path(), "",
               {{"CCCL_CACHE_SOCKET", cli.daemon.socket()}})
            .exit_code == 3);
}

TEST_CASE("each command's help shows an example") {
  const cccl_cached::TemporaryDirectory directory;
  for (const char* command : {"build", "link", "nvvm", "stats", "toolchains", "health"}) {
    const CliResult result = RunCli({command, "--help"}, directory.path());
    CHECK(result.exit_code == 0);
    CHECK(Has(result.output, std::string("Example: cccl-cache-cli ") + command));
  }
}

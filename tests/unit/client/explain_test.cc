// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "cccl_cache/client.h"
#include "tests/unit/client/cli_scene.h"

namespace explain_test {

namespace {

const std::string kKey(64, 'a');
const std::string kNearest(64, 'b');

v1::ExplainReply EditedHeader() {
  v1::ExplainReply reply;
  reply.set_verdict(v1::VERDICT_DIFFERS);
  reply.mutable_nearest()->set_key(kNearest);
  reply.mutable_nearest()->set_outcome(v1::OUTCOME_BUILT);
  reply.mutable_nearest()->set_time_ms(1'000'000'000'123);
  v1::Difference* header = reply.add_differences();
  header->set_field(v1::DIFFERENCE_FIELD_HEADER);
  header->set_name("inc/a.h");
  header->set_was(std::string(64, 'c'));
  header->set_is("absent");
  v1::Difference* source = reply.add_differences();
  source->set_field(v1::DIFFERENCE_FIELD_SOURCE);
  source->set_name("k.cu");
  source->set_was(std::string(64, 'd'));
  source->set_is(std::string(64, 'e'));
  source->set_was_lines(1);
  source->set_is_lines(2);
  reply.set_more_differences(3);
  v1::TierLook* look = reply.add_tiers();
  look->set_tier(v1::TIER_REMOTE);
  look->set_finding(v1::TIER_FINDING_REFUSED);
  look->set_reason("untrusted");
  return reply;
}

/// The last request, and the answer to it.
struct Explanations {
  v1::ExplainRequest seen;
  v1::ExplainReply reply = EditedHeader();

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.explain = [this](auto*, const v1::ExplainRequest& request, v1::ExplainReply* answer) {
      seen = request;
      *answer = reply;
      return grpc::Status::OK;
    };
    return answers;
  }
};

struct Fixture : Explanations, CliScene {
  Fixture() : CliScene(Answers()) {}
};

}  // namespace

TEST_CASE("explain KEY asks about the key and prints the differences") {
  Fixture cli;
  const CliResult result = cli.Run({"explain", kKey});
  CHECK(result.exit_code == 0);
  CHECK(cli.seen.key() == kKey);
  CHECK_FALSE(cli.seen.has_build());
  CHECK(Has(result.output, "header inc/a.h: was sha256 cccccccccccccccc..., is absent\n"));
  CHECK(Has(result.output, "(1 line), is sha256 eeeeeeeeeeeeeeee... (2 lines)\n"));
  CHECK(Has(result.output, "and 3 more\n"));
  CHECK(Has(result.output, "nearest: " + kNearest + ", built at "));
}

TEST_CASE("explain -- build sends the request of build, and writes nothing") {
  Fixture cli;
  cli.directory.Write("k.cu", "source");
  const CliResult result = cli.Run(
      {"explain", "--", "build", "k.cu", "--arch", "sm_90", "-I", "inc", "--toolchain", "13"});
  CHECK(result.errors.empty());
  CHECK(result.exit_code == 0);
  CHECK(cli.seen.key().empty());
  CHECK(cli.seen.build().nvrtc().source().inline_bytes() == "source");
  CHECK(cli.seen.build().nvrtc().options(1) == "--include-path=inc");
  CHECK(cli.seen.build().toolchain().major() == 13);
  CHECK_FALSE(std::filesystem::exists(cli.directory / "k.cubin"));
}

TEST_CASE("explain -- link and nvvm ask about links and modules") {
  Fixture cli;
  cli.directory.Write("a.ptx", "ptx");
  CHECK(cli.Run({"explain", "--", "link", "a.ptx", "--arch", "sm_90", "--toolchain", "13"})
            .exit_code == 0);
  CHECK(cli.seen.build().link().inputs(0).contents().inline_bytes() == "ptx");
  CHECK(cli.Run({"explain", "--", "nvvm", "a.ptx", "--arch", "compute_90", "--toolchain", "13"})
            .exit_code == 0);
  CHECK(cli.seen.build().nvvm().modules(0).name() == "a.ptx");
}

TEST_CASE("explain --json has the fields that docs/guide-shell.md names") {
  Fixture cli;
  const CliResult result = cli.Run({"explain", kKey, "--json"});
  CHECK(result.exit_code == 0);
  for (const char* part :
       {"\"verdict\": \"differs\"", "\"since\": \"\"", "\"time\": \"2001-09-09T01:46:40.123Z\"",
        "\"field\": \"header\"", "\"name\": \"inc/a.h\"", "\"is\": \"absent\"", "\"is_lines\": 2",
        "\"more_differences\": 3", "\"finding\": \"refused\"", "\"reason\": \"untrusted\""}) {
    INFO(part);
    CHECK(Has(result.output, part));
  }
  cli.directory.Write("k.cu", "source");
  CHECK(Has(cli.Run({"explain", "--json", "--", "build", "k.cu", "--arch", "sm_90"}).output,
            "\"verdict\": \"differs\""));
}

TEST_CASE("explain ends when the daemon asks for the same files again and again") {
  int times = 0;
  StandInAnswers answers;
  answers.explain = [&times](grpc::ServerContext* context, const auto&, auto*) {
    ++times;
    context->AddTrailingMetadata("cccl-error", "files-needed");
    return grpc::Status(grpc::StatusCode::INTERNAL, "the daemon's reason");
  };
  const CliScene scene(answers);
  auto client = cccl_cache::Client::Open(scene.daemon.socket());
  REQUIRE(client.ok());
  cccl_cache::NvrtcBuild build;
  build.source = "source";
  const auto explanation = client->Explain(build);
  REQUIRE_FALSE(explanation.ok());
  CHECK(explanation.error().status == CCCL_CACHE_FILES_NEEDED);
  CHECK(times <= 3);
}

}  // namespace explain_test

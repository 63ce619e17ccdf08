// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/client.h"

#include <catch2/catch.hpp>
#include <future>

#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace client_test {

using cccl_cache::Client;
using cccl_cache::Kind;
using cccl_cache::NvrtcBuild;
using cccl_cache::Outcome;
using cccl_cache::daemon::TemporaryDirectory;

TEST_CASE("a hit has its bytes and all fields of the reply") {
  const TemporaryDirectory directory;
  const std::string cubin = SomeBytes(180'000);
  v1::BuildRequest seen;
  StandInAnswers answers;
  answers.build = [&](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    seen = request;
    *reply = HitWithCubin(cubin);
    reply->set_log("a warning");
    auto* name = reply->add_lowered_names();
    name->set_expression("f<int>");
    name->set_lowered("_Z1fIiEvv");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open(daemon.socket());
  REQUIRE(client.ok());
  const std::string header = SomeBytes(5'000);
  const auto result = client->Build(NvrtcBuild{.source = "__global__ void f() {}",
                                               .name = "f.cu",
                                               .options = {"-arch=sm_90", "-lineinfo"},
                                               .headers = {{"a.h", header}},
                                               .name_expressions = {"f<int>"},
                                               .environment = {{"NVRTC_APPEND_FLAGS", "-G"}},
                                               .append_toolchain_headers = true},
                                    {.toolchain_major = 13,
                                     .driver_version = 13000,
                                     .working_directory = "/w",
                                     .wanted = {Kind::kCubin}});
  REQUIRE(result.ok());
  CHECK(result->outcome() == Outcome::kHit);
  CHECK(result->tier() == "memory");
  CHECK(result->key() == "00ff");
  CHECK(result->fingerprint() == "11ee");
  CHECK(result->toolchain_id() == "22dd");
  CHECK(result->toolchain_version() == "13.0");
  CHECK(result->log() == "a warning");
  CHECK(result->info().queue_us == 5);
  CHECK(result->info().compile_us == 7);
  CHECK(result->info().request_id == 0x6926d1f000001);
  CHECK(result->info().total_us > 0);
  CHECK((result->artifact(Kind::kCubin) == cubin));
  CHECK(result->artifact(Kind::kPtx).empty());
  CHECK(result->artifacts().at(0).sha256 == std::string(32, 's'));
  CHECK(result->lowered_names().at(0).lowered == "_Z1fIiEvv");
  CHECK(seen.nvrtc().source().inline_bytes() == "__global__ void f() {}");
  CHECK(seen.nvrtc().name() == "f.cu");
  CHECK(seen.nvrtc().options(1) == "-lineinfo");
  CHECK((seen.nvrtc().headers(0).contents().inline_bytes() == header));
  CHECK(seen.nvrtc().name_expressions(0) == "f<int>");
  CHECK(seen.nvrtc().environment(0).value() == "-G");
  CHECK(seen.nvrtc().append_toolchain_headers());
  CHECK(seen.toolchain().major() == 13);
  CHECK(seen.driver_version() == 13000);
  CHECK(seen.working_directory() == "/w");
  CHECK(seen.files_view().mount_namespace() != 0);
  CHECK(seen.files_view().root_inode() != 0);
  CHECK(seen.files_view().root_mount() != 0);
  CHECK(seen.wanted(0) == v1::ARTIFACT_KIND_CUBIN);
}

TEST_CASE("an enum value that this library does not know is reported as unknown") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  int number = 0;
  answers.build = [&number](auto*, const v1::BuildRequest&, v1::BuildReply* reply) {
    *reply = HitWithCubin("the cubin");
    reply->set_outcome(static_cast<v1::Outcome>(number));
    reply->set_tier(static_cast<v1::Tier>(number));
    reply->mutable_artifacts(0)->set_kind(static_cast<v1::ArtifactKind>(number));
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open(daemon.socket());
  REQUIRE(client.ok());
  for (const int strange : {7, 77, 0x7fffffff, -1}) {
    number = strange;
    const auto result = client->Build(NvrtcBuild{.source = "k"});
    REQUIRE(result.ok());
    CHECK(result->outcome() == Outcome::kUnknown);
    CHECK(result->tier().empty());
    CHECK(result->artifact(Kind::kCubin).empty());
    CHECK(result->artifacts().at(0).contents == "the cubin");
  }
}

}  // namespace client_test

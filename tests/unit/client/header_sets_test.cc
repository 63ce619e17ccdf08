// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <string>

#include "cccl_cache/client.h"
#include "proto/digest.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace header_sets_test {

using cccl_cache::Client;
using cccl_cache::NvrtcBuild;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

/// A daemon that keeps uploads, and refuses builds whose header set it does not have.
struct Scene {
  explicit Scene(uint32_t minor = 5) {
    answers.info = [minor](v1::InfoReply* reply) {
      reply->set_api_minor(minor);
      return grpc::Status::OK;
    };
    answers.upload = [this](grpc::ServerReader<v1::UploadChunk>* reader, v1::UploadReply* reply) {
      if (refuses_uploads) return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not for you");
      std::string contents;
      v1::UploadChunk chunk;
      while (reader->Read(&chunk)) contents += chunk.data();
      const std::string sha256(cccl_cache::Sha256(contents).View());
      reply->set_sha256(sha256);
      ++uploads;
      sets[sha256].ParseFromString(contents);
      return grpc::Status::OK;
    };
    answers.build = [this](grpc::ServerContext* context, const v1::BuildRequest& request,
                           v1::BuildReply* reply) {
      last = request;
      const std::string& named = request.nvrtc().header_set_sha256();
      if (!named.empty() && !sets.contains(named)) {
        context->AddTrailingMetadata("cccl-error", "upload-needed");
        return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no such set");
      }
      *reply = HitWithCubin("c");
      return grpc::Status::OK;
    };
  }

  [[nodiscard]] std::unique_ptr<StandInDaemon> Start() {
    return std::make_unique<StandInDaemon>(directory / "socket", answers);
  }
  [[nodiscard]] static NvrtcBuild Build(const std::string& large) {
    return NvrtcBuild{.source = "s", .headers = {{"b.h", large}, {"a.h", "small"}}};
  }
  [[nodiscard]] const v1::HeaderSet& Named() { return sets.at(last.nvrtc().header_set_sha256()); }

  const TemporaryDirectory directory;
  StandInAnswers answers;
  std::map<std::string, v1::HeaderSet> sets;
  v1::BuildRequest last;
  int uploads = 0;
  bool refuses_uploads = false;
};

TEST_CASE("large headers are sent once and then named by their digest") {
  Scene scene;
  const auto daemon = scene.Start();
  auto client = Client::Open({.socket = daemon->socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const std::string large = SomeBytes(3 << 20);
  for (int i = 0; i < 2; ++i) REQUIRE(client->Build(Scene::Build(large)).ok());
  CHECK(scene.uploads == 1);
  CHECK(scene.last.nvrtc().headers_size() == 0);
  CHECK(scene.last.min_api_minor() == 5);
  REQUIRE(scene.Named().headers_size() == 2);
  CHECK(scene.Named().headers(0).name() == "a.h");
  CHECK((scene.Named().headers(1).contents().inline_bytes() == large));
}

TEST_CASE("an edited header makes another set, and small headers none") {
  Scene scene;
  const auto daemon = scene.Start();
  auto client = Client::Open({.socket = daemon->socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  std::string large = SomeBytes(3 << 20);
  REQUIRE(client->Build(Scene::Build(large)).ok());
  large.back() ^= 1;
  REQUIRE(client->Build(Scene::Build(large)).ok());
  CHECK((scene.Named().headers(1).contents().inline_bytes() == large));
  CHECK(scene.uploads == 2);
  REQUIRE(client->Build(Scene::Build("tiny")).ok());
  CHECK(scene.last.nvrtc().headers_size() == 2);
  CHECK(scene.uploads == 2);
}

TEST_CASE("large headers are sent inline to a daemon that knows no sets, or keeps none") {
  const bool old = GENERATE(true, false);
  Scene scene(old ? 4 : 5);
  scene.refuses_uploads = true;
  const auto daemon = scene.Start();
  auto client = Client::Open({.socket = daemon->socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  REQUIRE(client->Build(Scene::Build(SomeBytes(3 << 20))).ok());
  CHECK(scene.last.nvrtc().headers_size() == 2);
  CHECK(scene.last.nvrtc().header_set_sha256().empty());
  CHECK(scene.last.min_api_minor() == 0);
}

}  // namespace
}  // namespace header_sets_test

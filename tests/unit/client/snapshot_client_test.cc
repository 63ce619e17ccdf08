// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "cccl_cache/client.h"
#include "proto/snapshot/snapshot.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace snapshot_client_test {

using cccl_cache::Client;

namespace {

struct Scene {
  v1::SnapshotFilter filter;
  std::string known;
  std::string wanted;
  bool knows_wanted = true;
  std::chrono::system_clock::time_point deadline;
  std::string inserted;
  size_t messages = 0;
  grpc::Status status = grpc::Status::OK;
  cccl_cache::daemon::TemporaryDirectory directory;
  StandInDaemon daemon{directory / "socket", Answers()};
  cccl_cache::Expected<Client> client = Client::Open(daemon.socket());
  const std::string path = directory.Write("file", "");
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);

  ~Scene() { close(fd); }

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.create_snapshot = [this](grpc::ServerContext* context,
                                     StandInAnswers::Creating* stream) {
      deadline = context->deadline();
      v1::SnapshotCreateRequest request;
      for (bool last = false; !last && stream->Read(&request); last = request.last()) {
        if (messages++ == 0) filter = request.filter();
        known += request.known_keys();
        wanted += request.wanted_keys();
      }
      if (!status.ok()) return status;
      v1::SnapshotCreateReply reply;
      reply.set_data("the file");
      stream->Write(reply);
      reply.Clear();
      reply.mutable_summary()->set_records(1);
      reply.mutable_summary()->set_only_wanted(knows_wanted && filter.only_wanted());
      stream->Write(reply);
      return grpc::Status::OK;
    };
    answers.insert_snapshot = [this](grpc::ServerReader<v1::SnapshotInsertRequest>* reader,
                                     v1::SnapshotInsertReply* reply) {
      v1::SnapshotInsertRequest request;
      for (bool last = false; !last && reader->Read(&request); last = request.last()) {
        inserted += request.data();
      }
      reply->mutable_summary()->set_records(3);
      reply->mutable_summary()->set_shared(true);
      return status;
    };
    return answers;
  }
};

/// Returns a snapshot of one artifact.
std::string Snapshot() {
  std::string bytes;
  cccl_cache::SnapshotWriter writer([&](std::string_view more) {
    bytes.append(more);
    return true;
  });
  cccl_cache::SnapshotItem item;
  item.kind = cccl_cache::SnapshotKind::kArtifact;
  item.key = cccl_cache::Sha256("key");
  item.toolchain_version = "13.0";
  item.arch = "sm_90";
  item.bytes = 9;
  REQUIRE(writer.Add(item, "stored"));
  REQUIRE(writer.Finish());
  return bytes;
}

}  // namespace

TEST_CASE("a snapshot is requested with its filter, and written to the descriptor") {
  Scene scene;
  cccl_cache::SnapshotFilter filter;
  filter.toolchain = "13";
  filter.arch = "sm_90";
  filter.since = std::chrono::sys_seconds(std::chrono::seconds(5));
  filter.until = std::chrono::sys_seconds(std::chrono::seconds(-5));
  filter.name_space = "org.example";
  filter.uids = {7, 8};
  filter.all_users = true;
  const auto made = scene.client->snapshots().Create(scene.fd, filter);
  REQUIRE(made.ok());
  CHECK(made->records == 1);
  CHECK(scene.messages == 1);
  CHECK(scene.filter.toolchain() == "13");
  CHECK(scene.filter.arch() == "sm_90");
  CHECK(scene.filter.since_s() == 5);
  CHECK(scene.filter.until_s() == 1);  // 0 would mean no limit
  CHECK(scene.filter.name_space() == "org.example");
  CHECK(scene.filter.uids(1) == 8);
  CHECK(scene.filter.all_users());
  std::ifstream file(scene.path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "the file");
}

TEST_CASE("wanted keys are sent, and a daemon that ignores them is an error") {
  Scene scene;
  const auto key = cccl_cache::Sha256("key");
  cccl_cache::SnapshotFilter filter;
  filter.keys = {key.Hex()};
  REQUIRE(scene.client->snapshots().Create(scene.fd, filter).ok());
  CHECK(scene.filter.only_wanted());
  CHECK(scene.wanted == key.View());
  CHECK(scene.known.empty());
  scene.knows_wanted = false;
  CHECK(scene.client->snapshots().Create(scene.fd, filter).error().status == CCCL_CACHE_PROTOCOL);
  filter.keys = {"no key"};
  CHECK(scene.client->snapshots().Create(scene.fd, filter).error().status ==
        CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("the refusal of a snapshot has the daemon's reason") {
  Scene scene;
  scene.status = {grpc::StatusCode::PERMISSION_DENIED, "not you"};
  CHECK(scene.client->snapshots().Create(scene.fd).error().status == CCCL_CACHE_DENIED);
}

TEST_CASE("a delta since a file that is no snapshot is refused without asking the daemon") {
  Scene scene;
  const std::string no_snapshot = scene.directory.Write("other", "no snapshot");
  const int since = open(no_snapshot.c_str(), O_RDONLY | O_CLOEXEC);
  const auto made = scene.client->snapshots().Delta(since, scene.fd);
  close(since);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(made.error().message.starts_with("the snapshot is refused: "));
  CHECK(scene.messages == 0);
}

TEST_CASE("a file that is not a snapshot is neither inserted, listed nor verified") {
  Scene scene;
  REQUIRE(write(scene.fd, "no snapshot", 11) == 11);
  CHECK(scene.client->snapshots().Insert(scene.fd).error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(scene.inserted.empty());
  const auto listed = cccl_cache::ListSnapshot(scene.fd, [](const auto&) { return true; });
  CHECK(listed.error().message.starts_with("the snapshot is refused: "));
  CHECK_FALSE(cccl_cache::VerifySnapshot(scene.fd).ok());
}

TEST_CASE("a timeout beyond the range becomes the longest one, and an expired one becomes zero") {
  Scene scene;
  const auto in_a_day = std::chrono::system_clock::now() + std::chrono::hours(24);
  const std::chrono::milliseconds beyond((int64_t{1} << 32) + 1);
  CHECK(scene.client->snapshots().Create(scene.fd, {}, beyond).ok());
  CHECK(scene.deadline > in_a_day);
  CHECK(scene.client->snapshots().Create(scene.fd, {}, std::chrono::milliseconds(-1)).ok());
  CHECK(scene.deadline < in_a_day);
}

TEST_CASE("a delta request has the keys of the earlier snapshot") {
  Scene scene;
  const std::string earlier = scene.directory.Write("earlier", Snapshot());
  const int since = open(earlier.c_str(), O_RDONLY | O_CLOEXEC);
  const auto made = scene.client->snapshots().Delta(since, scene.fd);
  close(since);
  REQUIRE(made.ok());
  CHECK(scene.known == cccl_cache::Sha256("key").View());
  CHECK(scene.messages == 1);
}

TEST_CASE("a snapshot is inserted byte for byte, listed and verified without a daemon") {
  Scene scene;
  const std::string snapshot = Snapshot();
  REQUIRE(write(scene.fd, snapshot.data(), snapshot.size()) ==
          static_cast<ssize_t>(snapshot.size()));
  const auto kept = scene.client->snapshots().Insert(scene.fd);
  REQUIRE(kept.ok());
  CHECK(kept->records == 3);
  CHECK(kept->shared == 1);
  CHECK(scene.inserted == snapshot);
  scene.daemon.Stop();
  std::string listed;
  CHECK(cccl_cache::ListSnapshot(scene.fd, [&](const cccl_cache_snapshot_item& item) {
          listed.append(cccl_cache::View(item.key)).append(cccl_cache::View(item.arch));
          CHECK(item.bytes == 9);
          return true;
        }).ok());
  CHECK(listed == cccl_cache::Sha256("key").Hex() + "sm_90");
  const auto whole = cccl_cache::VerifySnapshot(scene.fd);
  REQUIRE(whole.ok());
  CHECK(whole->records == 1);
  CHECK(whole->bytes == snapshot.size());
}

}  // namespace snapshot_client_test

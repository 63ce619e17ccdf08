// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Builds of a batch that need separate calls.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <set>
#include <string>

#include "cccl_cache/batch.h"
#include "tests/unit/client/batch_scene.h"

namespace batch_apart_test {

using cccl_cache::Batch;
using cccl_cache::Kind;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;

namespace {

std::string TakeUpload(grpc::ServerReader<v1::UploadChunk>* reader, v1::UploadReply* reply) {
  std::string taken;
  v1::UploadChunk chunk;
  while (reader->Read(&chunk)) taken += chunk.data();
  reply->set_sha256(std::string(32, 'u'));
  return taken;
}

}  // namespace

TEST_CASE("a reply that is too large for a message is fetched by a separate call") {
  const std::string contents = SomeBytes(3'000'000);
  StandInAnswers answers;
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      v1::BuildManyReply reply;
      reply.set_tag(request.tag());
      *reply.mutable_reply() = HitWithCubin("");
      reply.mutable_reply()->set_outcome(v1::OUTCOME_BUILT);
      reply.mutable_reply()->mutable_artifacts(0)->set_size(contents.size());
      reply.mutable_reply()->mutable_artifacts(0)->set_in_chunks(true);
      stream->Write(reply);
    }
    return grpc::Status::OK;
  };
  answers.with_files = [&](auto*, StandInAnswers::WithFiles* stream) {
    v1::BuildWithFilesRequest request;
    stream->Read(&request);
    v1::BuildWithFilesReply reply;
    *reply.mutable_reply() = HitWithCubin("");
    reply.mutable_reply()->mutable_artifacts(0)->set_size(contents.size());
    reply.mutable_reply()->mutable_artifacts(0)->set_in_chunks(true);
    stream->Write(reply);
    for (size_t at = 0; at < contents.size(); at += 1 << 20) {
      v1::BuildWithFilesReply piece;
      piece.set_data(contents.substr(at, 1 << 20));
      stream->Write(piece);
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  for (uint64_t tag = 0; tag < 20; ++tag) REQUIRE(batch.Add(Source("a"), tag).ok());
  int whole = 0;
  while (const auto finished = batch.Next()) {
    REQUIRE(finished->result.ok());
    // The outcome is that of the first reply.
    CHECK(finished->result->outcome() == cccl_cache::Outcome::kBuilt);
    whole += finished->result->artifact(Kind::kCubin) == contents ? 1 : 0;
  }
  CHECK(whole == 20);
}

TEST_CASE("a build with files that the daemon can't open sends them over a separate call") {
  const TemporaryDirectory files;
  const std::string header = files.Write("a.h", "what the header says");
  StandInAnswers answers;
  answers.many = [](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) Refuse(stream, request.tag(), "files-needed", 250);
    return grpc::Status::OK;
  };
  answers.with_files = [&](auto*, StandInAnswers::WithFiles* stream) {
    v1::BuildWithFilesRequest request;
    stream->Read(&request);
    v1::BuildWithFilesReply reply;
    reply.add_questions()->set_path(header);
    reply.mutable_questions(0)->set_contents(true);
    stream->Write(reply);
    stream->Read(&request);
    v1::BuildWithFilesReply answer;
    *answer.mutable_reply() = HitWithCubin("");
    answer.mutable_reply()->mutable_artifacts(0)->set_size(request.answers(0).contents().size());
    stream->Write(answer);
    v1::BuildWithFilesReply data;
    data.set_data(request.answers(0).contents());
    stream->Write(data);
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  const std::string source = "#include \"" + header + "\"\n";
  REQUIRE(batch.Add(Source(source), 1).ok());
  CHECK(CubinOf(batch.Next()) == "what the header says");
}

TEST_CASE("no other build waits for the upload of a build too large for a message") {
  std::promise<void> let;
  auto allowed = let.get_future().share();
  StandInAnswers answers;
  std::string uploaded;
  answers.upload = [&, allowed](auto* reader, v1::UploadReply* reply) {
    allowed.wait();
    uploaded = TakeUpload(reader, reply);
    return grpc::Status::OK;
  };
  answers.many = Echo;
  answers.with_files = EchoApart;
  BatchScene scene(answers);
  Batch batch = scene.Open();
  const std::string large = SomeBytes(20 << 20);
  REQUIRE(batch.Add(Source(large), 1).ok());
  CHECK_FALSE(batch.Next(0ms));
  REQUIRE(batch.Add(Source("small"), 2).ok());
  CHECK(CubinOf(batch.Next()) == "small");
  let.set_value();
  CHECK(CubinOf(batch.Next()) == std::string(32, 'u'));
  CHECK((uploaded == large));
}

TEST_CASE("an upload that a restarted daemon does not know is sent once more") {
  StandInAnswers answers;
  std::atomic<int> uploads{0};
  std::atomic<int> builds{0};
  answers.upload = [&](auto* reader, v1::UploadReply* reply) {
    ++uploads;
    TakeUpload(reader, reply);
    return grpc::Status::OK;
  };
  answers.with_files = [&](grpc::ServerContext* context, StandInAnswers::WithFiles* stream) {
    if (builds++ > 0) return EchoApart(context, stream);
    context->AddTrailingMetadata("cccl-error", "upload-needed");
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "forgotten");
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source(SomeBytes(20 << 20)), 1).ok());
  CHECK(CubinOf(batch.Next()) == std::string(32, 'u'));
  CHECK(uploads == 2);
}

TEST_CASE("a request that is too large does not affect the batch's other builds") {
  constexpr int kLimit = 100'000;
  StandInAnswers answers;
  std::promise<void> small_asked;
  auto asked = small_asked.get_future().share();
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    if (stream->Read(&request) && SourceOf(request) == "small") small_asked.set_value();
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  };
  answers.upload = [](auto* reader, v1::UploadReply* reply) {
    TakeUpload(reader, reply);
    return grpc::Status::OK;
  };
  answers.with_files = EchoApart;
  SECTION("its contents are uploaded once the limit is known") {
    answers.info = [](v1::InfoReply* reply) {
      reply->mutable_limits()->set_message_bytes(kLimit);
      return grpc::Status::OK;
    };
  }
  SECTION("its error is returned if uploads do not help") {}
  BatchScene scene(answers, kLimit);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("small"), 1).ok());
  asked.wait();
  REQUIRE(batch.Add(Source(SomeBytes(200'000)), 2).ok());
  int finished_builds = 0;
  while (const auto finished = batch.Next()) {
    ++finished_builds;
    if (finished->tag == 1) {
      CHECK(CubinOf(finished) == "small");
    } else if (answers.info) {
      CHECK(CubinOf(finished) == std::string(32, 'u'));
    } else {
      CHECK(StatusOf(finished) == CCCL_CACHE_TOO_LARGE);
    }
  }
  CHECK(finished_builds == 2);
}

TEST_CASE("without a stream the builds use separate calls") {
  StandInAnswers answers;
  answers.with_files = EchoApart;
  SECTION("the daemon has too many streams") {
    answers.many = [](auto*, Many*) {
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams");
    };
  }
  SECTION("the daemon does not know streams") {}
  SECTION("the daemon is so old that it knows only single builds") {
    answers.with_files = nullptr;
    answers.chunks = [](const v1::BuildRequest& request, auto* writer) {
      v1::BuildChunk data;
      data.set_data(request.nvrtc().source().inline_bytes());
      v1::BuildChunk head;
      *head.mutable_reply() = HitWithCubin("");
      head.mutable_reply()->mutable_artifacts(0)->set_size(data.data().size());
      writer->Write(head);
      writer->Write(data);
      return grpc::Status::OK;
    };
  }
  BatchScene scene(answers);
  Batch batch = scene.Open();
  std::set<std::string> cubins;
  for (uint64_t tag = 0; tag < 20; ++tag) REQUIRE(batch.Add(Source(std::to_string(tag)), tag).ok());
  while (const auto finished = batch.Next()) cubins.insert(CubinOf(finished));
  CHECK(cubins.size() == 20);
}

}  // namespace batch_apart_test

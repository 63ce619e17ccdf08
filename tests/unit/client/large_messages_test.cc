// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>

#include "cccl_cache/client.h"
#include "proto/digest.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace large_messages_test {

using cccl_cache::Client;
using cccl_cache::Kind;
using cccl_cache::LinkBuild;
using cccl_cache::NvrtcBuild;
using cccl_cache::Outcome;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

// Stores uploads like the daemon.
class Uploads {
 public:
  grpc::Status Take(grpc::ServerReader<v1::UploadChunk>* reader, v1::UploadReply* reply) {
    std::string contents;
    v1::UploadChunk chunk;
    while (reader->Read(&chunk)) {
      if (chunk.data().size() > (1 << 20)) return {grpc::StatusCode::INVALID_ARGUMENT, "chunk"};
      contents += chunk.data();
    }
    const cccl_cache::Digest digest = cccl_cache::Sha256(contents);
    const std::string sha256(digest.View());
    reply->set_sha256(sha256);
    reply->set_size(contents.size());
    const std::lock_guard lock(mutex_);
    ++count_;
    contents_[sha256] = std::move(contents);
    return grpc::Status::OK;
  }

  [[nodiscard]] std::string Resolve(const v1::Blob& blob) {
    if (blob.upload_sha256().empty()) return blob.inline_bytes();
    const std::lock_guard lock(mutex_);
    return contents_[blob.upload_sha256()];
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    contents_.clear();
  }
  [[nodiscard]] int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> contents_;
  int count_ = 0;
};

}  // namespace

TEST_CASE("a request of almost 16 MiB goes in one message") {
  const TemporaryDirectory directory;
  const std::string source = SomeBytes((16 << 20) - (600 << 10));
  bool same = false;
  StandInAnswers answers;
  answers.build = [&](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    same = request.nvrtc().source().inline_bytes() == source;
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  REQUIRE(client->Build(NvrtcBuild{.source = source}).ok());
  CHECK(same);
}

TEST_CASE("a reply of 16 MB arrives whole, also after a small one") {
  const TemporaryDirectory directory;
  const std::string large = SomeBytes(16'000'000);
  StandInAnswers answers;
  answers.build = [&](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    *reply = HitWithCubin(request.nvrtc().source().inline_bytes() == "large" ? large : "small");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  for (int i = 0; i < 3; ++i) {
    const auto result = client->Build(NvrtcBuild{.source = "large"});
    REQUIRE(result.ok());
    CHECK((result->artifact(Kind::kCubin) == large));
    const auto other = client->Build(NvrtcBuild{.source = "small"});
    REQUIRE(other.ok());
    CHECK(other->artifact(Kind::kCubin) == "small");
  }
}

TEST_CASE("only the inputs that make a request too large are uploaded before it") {
  const TemporaryDirectory directory;
  Uploads uploads;
  const std::string large = SomeBytes(20 << 20);
  const std::string small = SomeBytes(1000);
  bool same = false;
  StandInAnswers answers;
  answers.upload = [&](auto* reader, auto* reply) { return uploads.Take(reader, reply); };
  answers.build = [&](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    same = uploads.Resolve(request.link().inputs(0).contents()) == small &&
           uploads.Resolve(request.link().inputs(1).contents()) == large &&
           !request.link().inputs(0).contents().inline_bytes().empty();
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const LinkBuild build{.inputs = {{CCCL_CACHE_INPUT_OBJECT, "a.o", small},
                                   {CCCL_CACHE_INPUT_LIBRARY, "b.a", large}}};
  REQUIRE(client->Build(build).ok());
  CHECK(same);
  CHECK(uploads.count() == 1);
}

TEST_CASE("an upload that the daemon forgot is sent once more") {
  const TemporaryDirectory directory;
  Uploads uploads;
  int builds = 0;
  StandInAnswers answers;
  answers.upload = [&](auto* reader, auto* reply) { return uploads.Take(reader, reply); };
  answers.build = [&](grpc::ServerContext* context, const v1::BuildRequest& request,
                      v1::BuildReply* reply) {
    if (++builds == 1) uploads.Forget();
    if (uploads.Resolve(request.nvrtc().source()).empty()) {
      context->AddTrailingMetadata("cccl-error", "upload-needed");
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no such upload");
    }
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const std::string source = SomeBytes(20 << 20);
  CHECK(client->Build(NvrtcBuild{.source = source}).ok());
  CHECK(uploads.count() == 2);
}

TEST_CASE("an upload that the daemon refuses ends the build with the daemon's error") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.upload = [](auto*, auto*) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "nothing is kept for this user");
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const std::string source = SomeBytes(20 << 20);
  const auto result = client->Build(NvrtcBuild{.source = source});
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_DENIED);
  CHECK(result.error().message == "nothing is kept for this user");
  CHECK(client->Health().ok());
}

TEST_CASE("an artifact too large for a message is fetched in chunks, and the outcome stays built") {
  const TemporaryDirectory directory;
  const std::string cubin = SomeBytes(40 << 20);
  v1::BuildReply whole = HitWithCubin("");
  whole.mutable_artifacts(0)->set_size(cubin.size());
  StandInAnswers answers;
  answers.build = [&](auto*, const auto&, v1::BuildReply* reply) {
    *reply = whole;
    reply->set_outcome(v1::OUTCOME_BUILT);
    reply->mutable_artifacts(0)->set_in_chunks(true);
    return grpc::Status::OK;
  };
  answers.chunks = [&](const auto&, grpc::ServerWriter<v1::BuildChunk>* writer) {
    v1::BuildChunk chunk;
    *chunk.mutable_reply() = whole;
    writer->Write(chunk);
    chunk.clear_reply();
    for (size_t start = 0; start < cubin.size(); start += 1 << 20) {
      chunk.set_data(cubin.substr(start, 1 << 20));
      writer->Write(chunk);
    }
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const auto result = client->Build(NvrtcBuild{.source = "x"});
  REQUIRE(result.ok());
  CHECK(result->outcome() == Outcome::kBuilt);
  CHECK((result->artifact(Kind::kCubin) == cubin));
}

TEST_CASE("a stream of chunks that ends early is an error") {
  const TemporaryDirectory directory;
  v1::BuildReply announced = HitWithCubin("");
  announced.mutable_artifacts(0)->set_size(100);
  StandInAnswers answers;
  answers.build = [&](auto*, const auto&, v1::BuildReply* reply) {
    *reply = announced;
    reply->mutable_artifacts(0)->set_in_chunks(true);
    return grpc::Status::OK;
  };
  answers.chunks = [&](const auto&, grpc::ServerWriter<v1::BuildChunk>* writer) {
    v1::BuildChunk chunk;
    *chunk.mutable_reply() = announced;
    writer->Write(chunk);
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const auto result = client->Build(NvrtcBuild{.source = "x"});
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("the client learns and respects a smaller message limit") {
  const TemporaryDirectory directory;
  constexpr int kLimit = 256 << 10;
  Uploads uploads;
  std::atomic<int> questions = 0;
  const std::string source = SomeBytes(GENERATE(300'000, 3'000'000, 20'000'000));
  bool same = false;
  StandInAnswers answers;
  answers.info = [&](v1::InfoReply* reply) {
    ++questions;
    reply->mutable_limits()->set_message_bytes(kLimit);
    return grpc::Status::OK;
  };
  answers.upload = [&](auto* reader, auto* reply) { return uploads.Take(reader, reply); };
  answers.build = [&](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    same = uploads.Resolve(request.nvrtc().source()) == source;
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers, kLimit);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  for (int i = 0; i < 2; ++i) {
    const auto result = client->Build(NvrtcBuild{.source = source});
    INFO((result.ok() ? "" : result.error().message));
    REQUIRE(result.ok());
    CHECK(same);
  }
  CHECK(questions == 1);
}

TEST_CASE("a request with too many small parts is refused without endless retries") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.info = [](v1::InfoReply* reply) {
    reply->mutable_limits()->set_message_bytes(1024);
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers, 1024);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const auto result = client->Build(NvrtcBuild{.source = "x", .options = {std::string(2000, 'o')}});
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_TOO_LARGE);
}

TEST_CASE("a request beyond the server's limit is too-large, and the client stays usable") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [](auto*, const auto&, v1::BuildReply* reply) {
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  StandInDaemon daemon(directory / "socket", answers, 1 << 20);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const std::string source = SomeBytes(8 << 20);
  const auto result = client->Build(NvrtcBuild{.source = source});
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_TOO_LARGE);
  CHECK(result.error().message.find("larger than max") != std::string::npos);
  CHECK(client->Build(NvrtcBuild{.source = "x"}).ok());
}

}  // namespace large_messages_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::build_many_call_test {
namespace {

namespace v1 = cccl_cache::v1;

struct ManyBuilds {
  explicit ManyBuilds(RunningServer& running)
      : stub(running.BuildStub()), stream(stub->BuildMany(&Patient(context))) {}

  void Ask(uint64_t tag, const std::string& source = "x") {
    v1::BuildManyRequest request;
    request.set_tag(tag);
    *request.mutable_build() = SmallRequest();
    request.mutable_build()->mutable_nvrtc()->mutable_source()->set_inline_bytes(source);
    stream->Write(request);
  }
  void Cancel(uint64_t tag) {
    v1::BuildManyRequest request;
    request.set_tag(tag);
    request.set_cancel(true);
    stream->Write(request);
  }
  /// Reads the next answer into `reply` and returns its tag. Returns none if the call is over.
  std::optional<uint64_t> Next() {
    if (!stream->Read(&reply)) return std::nullopt;
    return reply.tag();
  }

  static grpc::ClientContext& Patient(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return context;
  }

  std::unique_ptr<v1::Build::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::BuildManyRequest, v1::BuildManyReply>> stream;
  v1::BuildManyReply reply;
};

/// Keeps each build until the test answers it.
class HeldBuilds {
 public:
  explicit HeldBuilds(RunningServer& running) {
    running.builder.AnswerLater([this](const Caller&, Builder::Done done) {
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(done));
      changed_.notify_all();
    });
  }

  [[nodiscard]] bool WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return held_.size() >= count; });
  }
  void Answer(size_t index, std::string cubin) {
    Builder::Done done;
    {
      const std::lock_guard lock(mutex_);
      done = held_.at(index);
    }
    done(MakeAnswer(std::move(cubin)));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Builder::Done> held_;  // guarded by mutex_
};

TEST_CASE("builds of one stream are answered as they finish, each under its tag") {
  RunningServer running;
  HeldBuilds builds(running);
  ManyBuilds many(running);
  for (const uint64_t tag : {70u, 71u, 72u}) {
    many.Ask(tag);
    REQUIRE(builds.WaitFor(tag - 69));
  }
  builds.Answer(2, "third");
  REQUIRE(many.Next() == 72u);
  CHECK(many.reply.reply().artifacts(0).contents() == "third");
  builds.Answer(0, "first");
  REQUIRE(many.Next() == 70u);
  CHECK(many.reply.reply().artifacts(0).contents() == "first");
  CHECK(many.reply.reply().outcome() == v1::OUTCOME_HIT);
  many.stream->WritesDone();
  builds.Answer(1, "second");
  REQUIRE(many.Next() == 71u);
  CHECK_FALSE(many.Next());
  CHECK(many.stream->Finish().ok());
}

TEST_CASE("a build that can't be served gets its error, and the others continue") {
  ServiceLimits limits;
  limits.headers = 1;
  RunningServer running(limits);
  ManyBuilds many(running);
  v1::BuildManyRequest request;
  request.set_tag(1);
  SECTION("because a field is wrong") {
    *request.mutable_build() = SmallRequest();
    request.mutable_build()->mutable_nvrtc()->set_name(std::string("a\0b", 3));
  }
  SECTION("because a list is too long") {
    *request.mutable_build() = SmallRequest();
    for (int i = 0; i < 2; ++i) request.mutable_build()->mutable_nvrtc()->add_headers();
  }
  SECTION("because there is no program in it") { request.mutable_build(); }
  many.stream->Write(request);
  REQUIRE(many.Next() == 1u);
  CHECK(many.reply.error().name() == "invalid-request");
  CHECK_FALSE(many.reply.error().message().empty());
  CHECK_FALSE(many.reply.has_reply());
  many.Ask(2);
  REQUIRE(many.Next() == 2u);
  CHECK(many.reply.has_reply());
}

TEST_CASE("one build is cancelled while others continue") {
  RunningServer running;
  running.builder.AnswerWith(nullptr);
  ManyBuilds many(running);
  many.Ask(1);
  many.Ask(2);
  REQUIRE(running.builder.WaitForWaiting(2));
  many.Cancel(1);
  REQUIRE(many.Next() == 1u);
  CHECK(many.reply.error().name() == "cancelled");
  CHECK(running.builder.WaitForLeft(1));
  many.Cancel(99);  // an unknown tag
  running.builder.AnswerAll(MakeAnswer("cubin"));
  REQUIRE(many.Next() == 2u);
  CHECK(many.reply.has_reply());
  many.Cancel(2);  // it was answered before
  many.stream->WritesDone();
  CHECK_FALSE(many.Next());
  CHECK(many.stream->Finish().ok());
}

TEST_CASE("the cancellation of a stream cancels all of its builds") {
  RunningServer running;
  running.builder.AnswerWith(nullptr);
  ManyBuilds many(running);
  for (uint64_t tag = 0; tag < 5; ++tag) many.Ask(tag);
  REQUIRE(running.builder.WaitForWaiting(5));
  many.context.TryCancel();
  CHECK(running.builder.WaitForLeft(5));
}

TEST_CASE("a build that was cancelled counts as long as the builder has it") {
  RunningServer running;
  auto builds = std::make_unique<HeldBuilds>(running);
  ManyBuilds many(running);
  many.Ask(1);
  REQUIRE(builds->WaitFor(1));
  const uint64_t calls = running.budget.Used(Resource::kCalls);
  many.Cancel(1);
  REQUIRE(many.Next() == 1u);
  CHECK(running.budget.Used(Resource::kCalls) == calls);
  builds.reset();
  CHECK(running.budget.Used(Resource::kCalls) == calls - 1);
}

TEST_CASE("a stream ends once, even if answers race with its cancellation") {
  RunningServer running;
  constexpr size_t kBuilds = 40;
  for (int round = 0; round < 10; ++round) {
    HeldBuilds builds(running);
    ManyBuilds many(running);
    for (uint64_t tag = 0; tag < kBuilds; ++tag) many.Ask(tag);
    REQUIRE(builds.WaitFor(kBuilds));
    std::jthread answering([&] {
      for (size_t i = 0; i < kBuilds; ++i) builds.Answer(i, "raced");
    });
    many.context.TryCancel();
    while (many.Next()) {
    }
    CHECK(many.stream->Finish().error_code() == grpc::StatusCode::CANCELLED);
  }
}

TEST_CASE("a late answer to a cancelled build does not answer the tag's next build") {
  RunningServer running;
  HeldBuilds builds(running);
  ManyBuilds many(running);
  many.Ask(7);
  REQUIRE(builds.WaitFor(1));
  many.Cancel(7);
  REQUIRE(many.Next() == 7u);
  CHECK(many.reply.has_error());
  many.Ask(7);
  REQUIRE(builds.WaitFor(2));
  builds.Answer(0, "late");
  builds.Answer(1, "asked for");
  REQUIRE(many.Next() == 7u);
  CHECK(many.reply.reply().artifacts(0).contents() == "asked for");
}

TEST_CASE("an invalid message ends the stream with the reason") {
  RunningServer running;
  running.builder.AnswerWith(nullptr);
  ManyBuilds many(running);
  std::string says;
  SECTION("neither a build nor cancel") {
    many.stream->Write(v1::BuildManyRequest());
    says = "either a build or cancel";
  }
  SECTION("both a build and cancel") {
    v1::BuildManyRequest request;
    *request.mutable_build() = SmallRequest();
    request.set_cancel(true);
    many.stream->Write(request);
    says = "either a build or cancel";
  }
  SECTION("a tag in use") {
    many.Ask(7);
    many.Ask(7);
    says = "the tag 7 is under way";
  }
  CHECK_FALSE(many.Next());
  const grpc::Status status = many.stream->Finish();
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message().find(says) != std::string::npos);
  CHECK(Trailer(many.context, "cccl-error") == "invalid-request");
}

TEST_CASE("a tag may be used again once it was answered") {
  RunningServer running;
  ManyBuilds many(running);
  for (int i = 0; i < 3; ++i) {
    many.Ask(7);
    REQUIRE(many.Next() == 7u);
    CHECK(many.reply.has_reply());
  }
}

TEST_CASE("an artifact that is too large for a message is marked in_chunks") {
  ServiceLimits limits;
  limits.message_bytes = 64 << 10;
  RunningServer running(limits);
  running.builder.AnswerWith([](const auto& request, const Peer&) {
    const auto& source = std::get<cccl_cache::NvrtcProgram>(request.program).source;
    return MakeAnswer(std::string(source == "large" ? 1 << 20 : 10, 'c'));
  });
  ManyBuilds many(running);
  many.Ask(1, "large");
  REQUIRE(many.Next() == 1u);
  REQUIRE(many.reply.reply().artifacts_size() == 1);
  CHECK(many.reply.reply().artifacts(0).in_chunks());
  CHECK(many.reply.reply().artifacts(0).size() == 1 << 20);
  CHECK(many.reply.reply().artifacts(0).contents().empty());
  many.Ask(2, "small");
  REQUIRE(many.Next() == 2u);
  CHECK(many.reply.reply().artifacts(0).contents() == std::string(10, 'c'));
}

TEST_CASE("each build of a stream counts as a call until it ends") {
  ServiceLimits limits;
  limits.calls_per_uid = 3;  // the stream itself counts as one
  RunningServer running(limits);
  running.builder.AnswerWith(nullptr);
  ManyBuilds many(running);
  many.Ask(1);
  many.Ask(2);
  REQUIRE(running.builder.WaitForWaiting(2));
  many.Ask(3);
  REQUIRE(many.Next() == 3u);
  CHECK(many.reply.error().name() == "overloaded");
  CHECK(many.reply.error().retry_ms() > 0);
  auto other = running.BuildStub();
  CHECK(Ask(*other, SmallRequest()).error == "overloaded");
  running.builder.AnswerAll(MakeAnswer("cubin"));
  REQUIRE(many.Next());
  REQUIRE(many.Next());
  running.builder.AnswerWith([](const auto&, const auto&) { return MakeAnswer("cubin"); });
  // A build counts until shortly after its answer.
  do {
    many.Ask(4);
    REQUIRE(many.Next() == 4u);
  } while (many.reply.error().name() == "overloaded");
  CHECK(many.reply.has_reply());
}

TEST_CASE("the bytes of a stream's builds are counted") {
  ServiceLimits limits;
  // Room for the stream's next message, and 100,000 bytes.
  limits.bytes_in_flight_per_uid = limits.message_bytes + 100'000;
  RunningServer running(limits);
  running.builder.AnswerWith(nullptr);
  ManyBuilds many(running);
  many.Ask(1, std::string(60'000, 'x'));
  REQUIRE(running.builder.WaitForWaiting(1));
  many.Ask(2, std::string(30'000, 'x'));
  REQUIRE(running.builder.WaitForWaiting(2));
  auto other = running.BuildStub();
  v1::BuildRequest request = SmallRequest();
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes(std::string(30'000, 'x'));
  CHECK(Ask(*other, request).error == "overloaded");
}

TEST_CASE("the maximum bytes of a stream's next message are counted in advance") {
  ServiceLimits limits;
  limits.bytes_in_flight_per_uid = 2 * limits.message_bytes + 100'000;
  RunningServer running(limits);
  const auto opens = [&] {
    ManyBuilds many(running);
    many.Ask(1);
    return many.Next() == 1u;
  };
  ManyBuilds one(running);
  ManyBuilds two(running);
  for (ManyBuilds* many : {&one, &two}) {
    many->Ask(1);
    REQUIRE(many->Next() == 1u);
  }
  ManyBuilds refused(running);
  CHECK_FALSE(refused.Next());
  CHECK(refused.stream->Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  one.stream->WritesDone();
  CHECK_FALSE(one.Next());
  CHECK(one.stream->Finish().ok());
  CHECK(Eventually(opens));
}

TEST_CASE("the bytes of an answer count until its caller reads it") {
  ServiceLimits limits;
  // Room for the stream's next message and for one answer of 10 MB, but not for two.
  limits.bytes_in_flight_per_uid = limits.message_bytes + 15'000'000;
  RunningServer running(limits);
  const BuildAnswer answer = MakeAnswer(std::string(10'000'000, 'c'));
  running.builder.AnswerWith(nullptr);
  ManyBuilds many(running);
  many.Ask(1);
  REQUIRE(running.builder.WaitForWaiting(1));
  // The answer is counted once AnswerAll returns. Only then another call may ask for the same
  // bytes; otherwise the stream's answer could be the refused one.
  running.builder.AnswerAll(answer);
  running.builder.AnswerWith([&](const auto&, const Peer&) { return answer; });
  const auto other = running.BuildStub();
  CHECK(Ask(*other, SmallRequest()).error == "overloaded");
  REQUIRE(many.Next() == 1u);
  CHECK(many.reply.has_reply());
  CHECK(Eventually([&] { return Ask(*other, SmallRequest()).status.ok(); }));
}

TEST_CASE("the log and lowered names of an answer count as bytes") {
  ServiceLimits limits;
  // Room for the stream's next message, and 100,000 bytes.
  limits.bytes_in_flight_per_uid = limits.message_bytes + 100'000;
  RunningServer running(limits);
  BuildAnswer answer = MakeAnswer("cubin");
  SECTION("its log") { answer.log = std::string(120'000, 'l'); }
  SECTION("its lowered names") {
    auto artifact = std::make_shared<Artifact>(*answer.artifact);
    artifact->lowered_names = {{"f<int>", std::string(120'000, 'n')}};
    answer.artifact = std::move(artifact);
  }
  running.builder.AnswerWith([&](const auto&, const Peer&) { return answer; });
  ManyBuilds many(running);
  many.Ask(1);
  REQUIRE(many.Next() == 1u);
  CHECK(many.reply.error().name() == "overloaded");
  const auto stub = running.BuildStub();
  CHECK(Ask(*stub, SmallRequest()).error == "overloaded");
  grpc::ClientContext context;
  const auto chunks = stub->BuildInChunks(&context, SmallRequest());
  CHECK_FALSE(chunks->Finish().ok());
  CHECK(Trailer(context, "cccl-error") == "overloaded");
}

TEST_CASE("a user may have 32 streams of builds, and other calls besides") {
  RunningServer running;
  std::vector<std::unique_ptr<ManyBuilds>> streams;
  for (int i = 0; i < 32; ++i) {
    streams.push_back(std::make_unique<ManyBuilds>(running));
    streams.back()->Ask(1);
    REQUIRE(streams.back()->Next() == 1u);
  }
  ManyBuilds refused(running);
  CHECK_FALSE(refused.Next());
  const grpc::Status status = refused.stream->Finish();
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(status.error_message().find("at most 32") != std::string::npos);
  auto other = running.BuildStub();
  CHECK(BuildOver(*other) == "cubin");
}

TEST_CASE("a caller that requests faster than it reads finally gets every answer") {
  RunningServer running;
  running.builder.AnswerWith(
      [](const auto&, const auto&) { return MakeAnswer(std::string(100'000, 'c')); });
  ManyBuilds many(running);
  constexpr int kBuilds = 2'000;
  std::thread asks([&] {
    for (uint64_t tag = 0; tag < kBuilds; ++tag) many.Ask(tag);
    many.stream->WritesDone();
  });
  int answered = 0;
  while (many.Next()) ++answered;
  asks.join();
  CHECK(answered == kBuilds);
  CHECK(many.stream->Finish().ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::build_many_call_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/build.pb.h>

#include <catch2/catch.hpp>
#include <map>

#include "client/src/calls/batch_calls.h"
#include "tests/unit/client/wire_bytes.h"

namespace batch_stream_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::BatchStream;
using cccl_cache::BuildReply;
using cccl_cache::Expected;
using cccl_cache::RequestMessage;

namespace {

struct Scene {
  void Ask(uint64_t number) {
    auto request = std::make_shared<RequestMessage>();
    cccl_cache_nvrtc program = {};
    program.struct_size = sizeof(program);
    program.source = {"source", 6};
    REQUIRE(request->SetProgram(program).ok());
    stream.Ask(number, std::move(request));
  }

  std::map<uint64_t, std::string> answers;  ///< by number: the log, or the error's text
  cccl_cache_status status = CCCL_CACHE_OK;
  BatchStream stream{[this](uint64_t number, Expected<BuildReply> reply) {
    if (!reply.ok()) status = reply.error().status;
    answers[number] = reply.ok() ? reply->fields().log : reply.error().message;
  }};
};

v1::BuildManyReply Answer(uint64_t tag) {
  v1::BuildManyReply reply;
  reply.set_tag(tag);
  return reply;
}

v1::BuildManyReply Log(uint64_t tag, const std::string& log) {
  auto reply = Answer(tag);
  reply.mutable_reply()->set_log(log);
  return reply;
}

}  // namespace

TEST_CASE("builds are requested one after the other, with their numbers") {
  Scene scene;
  CHECK(scene.stream.Next() == nullptr);
  scene.Ask(1);
  scene.Ask(2);
  CHECK(Sent<v1::BuildManyRequest>(*scene.stream.Next()).tag() == 1);
  const auto second = Sent<v1::BuildManyRequest>(*scene.stream.Next());
  CHECK(second.tag() == 2);
  CHECK(second.build().nvrtc().source().inline_bytes() == "source");
  CHECK(scene.stream.Next() == nullptr);
  CHECK(scene.stream.awaited() == std::set<uint64_t>{1, 2});
}

TEST_CASE("answers come in any order, and each is reported once") {
  Scene scene;
  scene.Ask(1);
  scene.Ask(2);
  CHECK(scene.stream.Take(Received(Log(2, "second"))));
  CHECK(scene.stream.Take(Received(Log(1, "first"))));
  CHECK(scene.stream.Take(Received(Log(1, "again"))));
  CHECK(scene.answers == std::map<uint64_t, std::string>{{1, "first"}, {2, "second"}});
  CHECK(scene.stream.awaited().empty());
}

TEST_CASE("a failed build has the error's name, text and retry time") {
  Scene scene;
  scene.Ask(1);
  auto reply = Answer(1);
  reply.mutable_error()->set_name("overloaded");
  reply.mutable_error()->set_message("full");
  reply.mutable_error()->set_retry_ms(uint64_t{1} << 40);
  CHECK(scene.stream.Take(Received(reply)));
  CHECK(scene.status == CCCL_CACHE_OVERLOADED);
  CHECK(scene.answers[1] == "full");
  scene.Ask(2);
  auto unknown = Answer(2);
  unknown.mutable_error()->set_name("something-new");
  CHECK(scene.stream.Take(Received(unknown)));
  CHECK(scene.status == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("a build that is cancelled before it was sent is never sent") {
  Scene scene;
  scene.Ask(1);
  scene.stream.Cancel(1);
  CHECK(scene.stream.Next() == nullptr);
  CHECK(scene.stream.awaited().empty());
  scene.stream.Cancel(7);  // it was not requested
  CHECK(scene.stream.Next() == nullptr);
}

TEST_CASE("the cancellation of a sent build is sent too, and the answer is dropped") {
  Scene scene;
  scene.Ask(1);
  static_cast<void>(scene.stream.Next());
  scene.stream.Cancel(1);
  const auto cancel = Sent<v1::BuildManyRequest>(*scene.stream.Next());
  CHECK(cancel.tag() == 1);
  CHECK(cancel.cancel());
  CHECK(scene.stream.Take(Received(Log(1, "late"))));
  CHECK(scene.answers.empty());
}

TEST_CASE("a stream is done once it is closed and all requests were sent") {
  Scene scene;
  scene.Ask(1);
  CHECK_FALSE(scene.stream.done());
  scene.stream.Close();
  CHECK_FALSE(scene.stream.done());
  static_cast<void>(scene.stream.Next());
  CHECK(scene.stream.done());
}

TEST_CASE("an answer with both reply and error, or neither, or malformed bytes is refused") {
  Scene scene;
  scene.Ask(1);
  auto both = Log(1, "log");
  both.mutable_error();
  // protobuf's oneof keeps only one of the two; another writer may send both.
  const std::string error_too = Log(1, "log").SerializeAsString() + std::string("\x12\x00", 2);
  CHECK_FALSE(scene.stream.Take(Received(error_too)));
  CHECK_FALSE(scene.stream.Take(Received(Answer(1))));
  CHECK_FALSE(scene.stream.Take(Received("\x7a\x05x")));
  CHECK_FALSE(scene.stream.Take(Received(std::string("\x12\x02\x0a\x05", 4))));
  CHECK(scene.answers.empty());
}

}  // namespace batch_stream_test

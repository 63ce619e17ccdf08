// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/call.h"

#include <catch2/catch.hpp>
#include <deque>

#include "tests/unit/client/wire_bytes.h"

namespace call_test {

using cccl_cache::ByteChain;
using cccl_cache::Call;
using cccl_cache::CallEnd;
using cccl_cache::Deadline;
using cccl_cache::Error;
using cccl_cache::GrpcStatus;
using cccl_cache::Message;
using cccl_cache::PercentDecode;

namespace {

class Collected final : public cccl_cache::MessageSink {
 public:
  void Restart() override {}
  bool Take(Message message) override {
    messages.emplace_back(message.View());
    return takes;
  }

  std::vector<std::string> messages;
  bool takes = true;
};

class Sayings final : public cccl_cache::MessageSource {
 public:
  const ByteChain* Next() override {
    if (left.empty()) return nullptr;
    said.Clear();
    said.Copy(left.front());
    left.pop_front();
    return &said;
  }
  [[nodiscard]] bool done() const override { return closed; }

  std::deque<std::string> left;
  bool closed = false;

 private:
  ByteChain said;
};

std::string Framed(const std::string& message) {
  return std::string("\0\0\0\0", 4) + static_cast<char>(message.size()) + message;
}

struct Scene {
  explicit Scene(cccl_cache::MessageSource* source = nullptr) {
    body.Copy("the body");
    call.emplace("/path", body, &sink, Deadline::After(std::chrono::hours(1)), source);
  }

  /// Sends at most this many bytes.
  std::string Send(size_t bytes) {
    ByteChain output;
    call->MoveBody(bytes, &output);
    return Joined(output);
  }

  ByteChain body;
  Collected sink;
  std::optional<Call> call;
};

}  // namespace

TEST_CASE("a body is sent in pieces, and its end is known") {
  Scene scene;
  CHECK(scene.call->unsent() == 8);
  CHECK(scene.Send(3) == "the");
  CHECK(scene.Send(5) == " body");
  CHECK(scene.call->unsent() == 0);
  CHECK_FALSE(scene.call->goes_on());
  CHECK_FALSE(scene.call->TakeMore());
}

TEST_CASE("the messages of a source follow the body until the source is done") {
  Sayings source;
  Scene scene(&source);
  source.left = {"more"};
  CHECK(scene.call->goes_on());
  CHECK_FALSE(scene.call->TakeMore());  // the body comes first
  static_cast<void>(scene.Send(8));
  CHECK(scene.call->TakeMore());
  CHECK(scene.Send(4) == "more");
  CHECK_FALSE(scene.call->TakeMore());  // the source has nothing now
  CHECK(scene.call->goes_on());
  source.closed = true;
  CHECK(scene.call->TakeMore());
  CHECK_FALSE(scene.call->goes_on());
  CHECK_FALSE(scene.call->TakeMore());
}

TEST_CASE("each message is passed on once it is complete, however its bytes are split") {
  Scene scene;
  const std::string bytes = Framed("one") + Framed("") + Framed("three");
  for (const char byte : bytes) scene.call->AddData({&byte, 1});
  CHECK(scene.sink.messages == std::vector<std::string>{"one", "", "three"});
  scene.call->AddData(bytes);
  CHECK(scene.sink.messages.size() == 6);
  CHECK_FALSE(scene.call->ended());
}

TEST_CASE("an unexpected message ends the call, and later messages are ignored") {
  Scene scene;
  scene.sink.takes = false;
  scene.call->AddData(Framed("one") + Framed("two"));
  CHECK(scene.call->end() == CallEnd::kMalformed);
  CHECK(scene.sink.messages.size() == 1);
}

TEST_CASE("a compressed or oversized message ends the call") {
  Scene compressed;
  compressed.call->AddData(std::string("\x01\0\0\0\x01x", 6));
  CHECK(compressed.call->end() == CallEnd::kMalformed);
  Scene huge;
  huge.call->AddData(std::string("\0\xff\xff\xff\xff", 5));
  CHECK(huge.call->end() == CallEnd::kMalformed);
}

TEST_CASE("only the first end of a call counts") {
  Scene scene;
  scene.call->End(CallEnd::kLost);
  scene.call->End(CallEnd::kAnswered);
  CHECK(scene.call->end() == CallEnd::kLost);
}

TEST_CASE("a success status within a message is an error; a failure status there is the answer") {
  Scene good;
  good.call->AddField(":status", "200");
  good.call->AddField("content-type", "application/grpc");
  good.call->AddField("grpc-status", "0");
  good.call->AddData(Framed("one").substr(0, 6));
  good.call->End(CallEnd::kAnswered);
  CHECK(good.call->end() == CallEnd::kMalformed);
  Scene bad;
  bad.call->AddField(":status", "200");
  bad.call->AddField("content-type", "application/grpc");
  bad.call->AddField("grpc-status", "8");
  bad.call->AddData(Framed("one").substr(0, 6));
  bad.call->End(CallEnd::kAnswered);
  CHECK(bad.call->end() == CallEnd::kAnswered);
}

TEST_CASE("percent-encoded messages are decoded, malformed ones are unchanged") {
  CHECK(PercentDecode("a%20b%0Ac") == "a b\nc");
  CHECK(PercentDecode("%E2%82%AC") == "\xe2\x82\xac");
  CHECK(PercentDecode("100%") == "100%");
  CHECK(PercentDecode("%4") == "%4");
  CHECK(PercentDecode("%zz%-1") == "%zz%-1");
  CHECK(PercentDecode("%41") == "A");
  CHECK(PercentDecode("").empty());
}

TEST_CASE("the daemon's own name for an error beats gRPC's code") {
  GrpcStatus status;
  status.AddField("grpc-status", "8");
  status.AddField("grpc-message", "too%20much%20memory");
  status.AddField("cccl-error", "out-of-memory");
  status.AddField("cccl-retry-ms", "250");
  CHECK_FALSE(status.ok());
  const Error error = status.ToError();
  CHECK(error.status == CCCL_CACHE_OUT_OF_MEMORY);
  CHECK(error.message == "too much memory");
  CHECK(error.retry_after_ms == 250);
}

TEST_CASE("every error name of the daemon is known to the client") {
  for (const int status : {2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14}) {
    const auto expected = static_cast<cccl_cache_status>(status);
    GrpcStatus given;
    given.AddField("grpc-status", "2");
    given.AddField("cccl-error", cccl_cache_status_name(expected));
    CHECK(given.ToError().status == expected);
  }
}

TEST_CASE("an unknown error name falls back to gRPC's code") {
  const auto classify = [](const char* code) {
    GrpcStatus status;
    status.AddField("grpc-status", code);
    status.AddField("cccl-error", "of-the-future");
    return status.ToError().status;
  };
  CHECK(classify("3") == CCCL_CACHE_INVALID_REQUEST);
  CHECK(classify("4") == CCCL_CACHE_DEADLINE);
  CHECK(classify("7") == CCCL_CACHE_DENIED);
  CHECK(classify("8") == CCCL_CACHE_OVERLOADED);
  CHECK(classify("14") == CCCL_CACHE_UNAVAILABLE);
  CHECK(classify("12") == CCCL_CACHE_PROTOCOL);
  CHECK(classify("no number") == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("gRPC's refusal of a large message is too-large, not overloaded") {
  GrpcStatus status;
  status.AddField("grpc-status", "8");
  status.AddField("grpc-message", "larger than max");
  CHECK(status.ToError().status == CCCL_CACHE_TOO_LARGE);
  CHECK(status.ToError().message.find("message_limit") != std::string::npos);
}

TEST_CASE("an answer without a status is reported as not gRPC") {
  GrpcStatus status;
  status.AddField(":status", "404");
  CHECK_FALSE(status.ok());
  CHECK(status.ToError().status == CCCL_CACHE_PROTOCOL);
  CHECK(status.ToError().message.find("404") != std::string::npos);
}

}  // namespace call_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/http2_session.h"

#include <dlfcn.h>
#include <nghttp2/nghttp2.h>

#include <catch2/catch.hpp>
#include <optional>

#include "tests/unit/client/scripted_server.h"
#include "tests/unit/client/wire_bytes.h"

namespace http2_session_test {

using cccl_cache::ByteChain;
using cccl_cache::Call;
using cccl_cache::CallEnd;
using cccl_cache::Deadline;
using cccl_cache::Http2Session;

namespace {

thread_local bool memory_is_used_up = false;

constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kGoAway = 7;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

class OneMessage final : public cccl_cache::MessageSink {
 public:
  void Restart() override {}
  bool Take(cccl_cache::Message message) override {
    bytes = message.View();
    return true;
  }
  std::string bytes;
};

/// A header field that is not in any table, as HPACK writes it.
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

std::string Head() { return Field(":status", "200") + Field("content-type", "application/grpc"); }

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  return ScriptedServer::Frame(type, flags, stream, payload);
}

/// Error code as RST_STREAM and GOAWAY write it.
std::string Code(char code) { return std::string(3, '\0') + code; }

struct Scene {
  Scene() {
    body.Copy(
        std::string("\0\0\0\0\x04"
                    "body",
                    9));
    call.emplace("/a.B/C", body, &answer, Deadline::After(std::chrono::hours(1)));
    session.Start(&*call);
  }

  std::string Send() {
    ByteChain output;
    session.Send(&output);
    return Joined(output);
  }
  bool ReceiveBytes(const std::string& bytes) { return session.Receive(bytes); }
  void Settle() { REQUIRE(ReceiveBytes(Frame(kSettings, 0, 0, ""))); }

  ByteChain body;
  OneMessage answer;
  Http2Session session;
  std::optional<Call> call;
};

}  // namespace

// Replaces the function of libnghttp2.
extern "C" int nghttp2_session_client_new(nghttp2_session** session,
                                          const nghttp2_session_callbacks* callbacks,
                                          void* user_data) {
  if (memory_is_used_up) return NGHTTP2_ERR_NOMEM;
  static const auto next = reinterpret_cast<decltype(&nghttp2_session_client_new)>(
      dlsym(RTLD_NEXT, "nghttp2_session_client_new"));
  return next(session, callbacks, user_data);
}

TEST_CASE("a session that gets no memory reports the failure") {
  memory_is_used_up = true;
  const Http2Session session;
  memory_is_used_up = false;
  CHECK_FALSE(session.ok());
  CHECK(Http2Session().ok());
}

TEST_CASE("a call begins with HTTP/2's preface, then sends its headers and its body") {
  Scene scene;
  const std::string sent = scene.Send();
  CHECK(sent.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  CHECK(
      sent.ends_with(std::string("\0\0\0\0\x04"
                                 "body",
                                 9)));
  CHECK(scene.call->unsent() == 0);
  CHECK_FALSE(scene.session.established());
  scene.Settle();
  CHECK(scene.session.established());
}

TEST_CASE("an answer is complete after its message and its status") {
  Scene scene;
  static_cast<void>(scene.Send());
  scene.Settle();
  CHECK(scene.ReceiveBytes(Frame(kHeaders, kEndHeaders, 1, Head())));
  CHECK(scene.ReceiveBytes(Frame(kData, 0, 1,
                                 std::string("\0\0\0\0\x06"
                                             "answer",
                                             11))));
  CHECK_FALSE(scene.call->ended());
  CHECK(
      scene.ReceiveBytes(Frame(kHeaders, kEndHeaders | kEndStream, 1, Field("grpc-status", "0"))));
  CHECK(scene.call->end() == CallEnd::kAnswered);
  CHECK(scene.call->status().ok());
  CHECK(scene.answer.bytes == "answer");
  CHECK_FALSE(scene.session.over());
}

TEST_CASE("the error code of a reset decides whether the call may be sent again") {
  const std::pair<char, CallEnd> ends[] = {{'\x07', CallEnd::kRefused},
                                           {'\x0b', CallEnd::kRefused},
                                           {'\x00', CallEnd::kMalformed},
                                           {'\x01', CallEnd::kMalformed},
                                           {'\x02', CallEnd::kLost}};
  for (const auto& [code, end] : ends) {
    Scene scene;
    static_cast<void>(scene.Send());
    scene.Settle();
    CHECK(scene.ReceiveBytes(Frame(kReset, 0, 1, Code(code))));
    CHECK(scene.call->end() == end);
  }
}

TEST_CASE("a closing server has not processed the calls after its last one") {
  Scene scene;
  static_cast<void>(scene.Send());
  scene.Settle();
  CHECK(scene.ReceiveBytes(Frame(kGoAway, 0, 0, Code('\0') + Code('\0'))));
  CHECK(scene.session.going_away());
  CHECK(scene.call->end() == CallEnd::kUnsent);
}

TEST_CASE("a forgotten call is reset, and later frames for it are dropped") {
  Scene scene;
  static_cast<void>(scene.Send());
  scene.Settle();
  scene.session.Forget();
  const std::string reset = Frame(kReset, 0, 1, Code('\x08'));
  CHECK(scene.Send().find(reset) != std::string::npos);
  CHECK(scene.ReceiveBytes(Frame(kHeaders, kEndHeaders, 1, Head())));
  CHECK_FALSE(scene.call->ended());
}

TEST_CASE("the next call has the next stream number") {
  Scene scene;
  static_cast<void>(scene.Send());
  scene.session.Forget();
  Call next("/a.B/D", scene.body, &scene.answer, Deadline::After(std::chrono::hours(1)));
  scene.session.Start(&next);
  CHECK(next.stream_id == 3);
  static_cast<void>(scene.Send());
  CHECK(next.unsent() == 0);
}

TEST_CASE("bytes that are not HTTP/2 are detected") {
  Scene scene;
  static_cast<void>(scene.Send());
  const bool heard = scene.ReceiveBytes("HTTP/1.1 400 Bad Request\r\n\r\n");
  static_cast<void>(scene.Send());  // perhaps a GOAWAY
  CHECK((!heard || scene.session.over()));
}

TEST_CASE("a body larger than the server's window waits for room") {
  Scene scene;
  const std::string large(200'000, 'x');
  ByteChain body;
  body.Refer(large);
  static_cast<void>(scene.Send());
  scene.session.Forget();
  Call call("/a.B/C", body, &scene.answer, Deadline::After(std::chrono::hours(1)));
  scene.session.Start(&call);
  static_cast<void>(scene.Send());
  CHECK(call.unsent() > 100'000);
  constexpr uint8_t kWindowUpdate = 8;
  const std::string room("\x00\x10\x00\x00", 4);
  scene.Settle();
  CHECK(scene.ReceiveBytes(Frame(kWindowUpdate, 0, 0, room)));
  CHECK(scene.ReceiveBytes(Frame(kWindowUpdate, 0, 3, room)));
  static_cast<void>(scene.Send());
  CHECK(call.unsent() == 0);
}

}  // namespace http2_session_test

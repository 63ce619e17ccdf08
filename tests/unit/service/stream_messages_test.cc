// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/stream_messages.h"

#include <catch2/catch.hpp>
#include <functional>
#include <optional>

#include "cccl_cache/v1/build.pb.h"
#include "tests/unit/core/answering_caller.h"
#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon::stream_messages_test {
namespace {

namespace v1 = cccl_cache::v1;

/// A caller that answers each question with an encoded message.
struct Scene {
  using Answer = std::function<v1::BuildWithFilesRequest()>;
  explicit Scene(Answer given) : answer(std::move(given)) {}

  /// Returns a file's contents as the daemon receives them.
  Result<RequesterFiles::Contents> Read() {
    const auto files = exchange->Open({.roots = {"/p"}, .working_directory = "/p"});
    return files->Read({0, "a.h"});
  }
  void Carry() {
    while (!exchange->Take().empty()) {
      auto bytes = BufferOf(answer());
      if (const Status read = ReadFileAnswers(bytes, *exchange); !read) {
        wrong = read.error();
        exchange->End(read.error());
      }
    }
  }

  const Answer answer;
  std::optional<Error> wrong;
  const std::shared_ptr<FileExchange> exchange = std::make_shared<FileExchange>(
      FileExchange::Options{.uid = 1000, .patience = std::chrono::milliseconds(1)},
      std::make_shared<SentContents>(std::chrono::steady_clock::now), [this] { Carry(); });
};

v1::BuildWithFilesRequest File(const std::string& contents) {
  v1::BuildWithFilesRequest message;
  auto* answer = message.add_answers();
  answer->set_kind(v1::FILE_KIND_REGULAR);
  answer->set_device(1);
  answer->set_inode(2);
  answer->set_size(contents.size());
  answer->set_contents(contents);
  return message;
}

/// Returns the error about a message that answers a question, or "taken".
std::string Refusal(const v1::BuildWithFilesRequest& message) {
  Scene scene([&] { return message; });
  static_cast<void>(scene.Read());
  if (!scene.wrong) return "taken";
  CHECK(scene.wrong->code == ErrorCode::kInvalidRequest);
  return scene.wrong->message;
}

/// Returns the error about bytes that come without a question, or "taken".
std::string RefusalOf(std::string_view bytes) {
  Scene scene([] { return v1::BuildWithFilesRequest(); });
  auto buffer = BufferOf(bytes);
  const Status read = ReadFileAnswers(buffer, *scene.exchange);
  return read.ok() ? "taken" : read.error().message;
}

TEST_CASE("a file's contents come with the answer, or after it") {
  Scene at_once([] { return File("text"); });
  const auto read = at_once.Read();
  REQUIRE(read.ok());
  CHECK(*read->bytes == "text");
  CHECK(read->seen.inode == std::pair<uint64_t, uint64_t>(1, 2));
  Scene behind([] {
    auto message = File("te");
    message.mutable_answers(0)->set_size(4);
    message.set_more("xt");
    return message;
  });
  const auto late = behind.Read();
  REQUIRE(late.ok());
  CHECK(*late->bytes == "text");
}

TEST_CASE("a directory, an absent name and a refusal are different answers") {
  const auto of_kind = [](v1::FileKind kind) {
    v1::BuildWithFilesRequest message;
    message.add_answers()->set_kind(kind);
    return message;
  };
  Scene absent([&] { return of_kind(v1::FILE_KIND_ABSENT); });
  CHECK(absent.Read()->seen.kind == FileKind::kAbsent);
  Scene directory([&] { return of_kind(v1::FILE_KIND_DIRECTORY); });
  CHECK(directory.Read()->seen.kind == FileKind::kDirectory);
  Scene refused([&] { return of_kind(v1::FILE_KIND_REFUSED); });
  CHECK(refused.Read().error().message.find("it does not say why") != std::string::npos);
  Scene reasoned([&] {
    auto message = of_kind(v1::FILE_KIND_REFUSED);
    message.mutable_answers(0)->set_reason("too large");
    return message;
  });
  CHECK(reasoned.Read().error().message.find("too large") != std::string::npos);
}

TEST_CASE("questions are sent in order, and tell whether contents are wanted") {
  const auto message = MessageIn<v1::BuildWithFilesReply>(
      EncodeQuestions({{.path = "/a", .contents = true}, {.path = "/b"}}));
  REQUIRE(message.questions_size() == 2);
  CHECK(message.questions(0).path() == "/a");
  CHECK(message.questions(0).contents());
  CHECK(message.questions(1).path() == "/b");
  CHECK_FALSE(message.questions(1).contents());
}

TEST_CASE("an invalid answer is refused with the reason") {
  v1::BuildWithFilesRequest message;
  message.add_answers();
  CHECK(Refusal(message).ends_with("0 is no kind of file"));
  message = File("");
  message.mutable_answers(0)->set_sha256("short");
  CHECK(Refusal(message).ends_with("a SHA-256 has 32 bytes"));
  message = File("text");
  message.mutable_answers(0)->set_sha256(std::string(32, 's'));
  CHECK(Refusal(message).ends_with("contents where their digest is"));
  message = File("text");
  message.mutable_answers(0)->set_size(3);
  CHECK(Refusal(message).find("more contents than were announced") != std::string::npos);
  message = File("text");
  *message.add_answers() = message.answers(0);
  CHECK(Refusal(message).find("one more than questions") != std::string::npos);
}

TEST_CASE("a second build is not accepted as an answer") {
  v1::BuildWithFilesRequest message;
  message.mutable_build();
  CHECK(Refusal(message).ends_with("another build"));
}

TEST_CASE("a message above the limit of its contents is refused before it is read") {
  CHECK(RefusalOf(std::string((1u << 20) + (256u << 10) + 1, '\0'))
            .ends_with("1310721 bytes, and at most 1048576 may be contents"));
}

TEST_CASE("some unknown fields are skipped, many are refused") {
  std::string field("\x58\x01", 2);  // number 11
  std::string some;
  for (int i = 0; i < 64; ++i) some += field;
  CHECK(RefusalOf(some) == "taken");
  CHECK(RefusalOf(some + field).ends_with("it is damaged"));
}

TEST_CASE("a truncated or malformed message is refused as damaged") {
  for (const std::string& bytes :
       {std::string("\x12\x05x"), std::string("\x1a\x05x"), std::string("\x12"),
        std::string("\x12\x02\x08"), std::string("\x5b"), std::string("\x12\x01\x0c")}) {
    CHECK(RefusalOf(bytes).find("it is damaged") != std::string::npos);
  }
}

namespace v1 = cccl_cache::v1;

Result<ManyRequest> Read(std::string_view bytes) {
  auto buffer = BufferOf(bytes);
  auto read = ReadManyRequest(buffer);
  CHECK(BytesOf(buffer) == bytes);
  return read;
}

Result<ManyRequest> Read(const v1::BuildManyRequest& message) {
  return Read(message.SerializeAsString());
}

v1::BuildManyRequest Tagged(uint64_t tag) {
  v1::BuildManyRequest message;
  message.set_tag(tag);
  return message;
}

TEST_CASE("a request of a stream starts or cancels a build") {
  auto build = Tagged(UINT64_MAX);
  build.mutable_build()->mutable_nvrtc();
  const auto begun = Read(build);
  REQUIRE(begun.ok());
  CHECK(begun->tag == UINT64_MAX);
  CHECK_FALSE(begun->cancel);
  auto cancel = Tagged(0);
  cancel.set_cancel(true);
  const auto cancelled = Read(cancel);
  REQUIRE(cancelled.ok());
  CHECK(cancelled->tag == 0);
  CHECK(cancelled->cancel);
}

TEST_CASE("a request without exactly one of build and cancel is refused") {
  auto both = Tagged(1);
  both.mutable_build();
  both.set_cancel(true);
  for (const auto& message : {both, Tagged(1), v1::BuildManyRequest()}) {
    const auto read = Read(message);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidRequest);
    CHECK(read.error().message.ends_with("with either a build or cancel"));
  }
}

TEST_CASE("a damaged request is refused, and so is one with too many fields") {
  auto build = Tagged(1);
  build.mutable_build();
  const std::string whole = build.SerializeAsString();
  CHECK_FALSE(Read(whole.substr(0, whole.size() - 1)).ok());
  CHECK_FALSE(Read(whole + "\xff").ok());
  CHECK_FALSE(Read(whole + "\x0c").ok());
  std::string unknown;
  for (int i = 0; i < 60; ++i) unknown += std::string("\x58\x01", 2);
  CHECK(Read(whole + unknown).ok());
  CHECK_FALSE(Read(whole + unknown + unknown).ok());
}

TEST_CASE("the build in a request of a stream is decoded") {
  auto message = Tagged(4);
  message.mutable_build()->mutable_nvrtc()->mutable_source()->set_inline_bytes("source");
  const std::string bytes = message.SerializeAsString();
  const std::string_view pieces[] = {bytes};
  ProtoReader input(pieces);
  const auto read = ReadOfMany(input, {}, [](const auto&) { return nullptr; });
  REQUIRE(read.ok());
  CHECK(std::get<cccl_cache::NvrtcProgram>(read->request->program).source == "source");
}

TEST_CASE("the reply to a failed build has tag, name, retry time and cut text") {
  Error error{ErrorCode::kOverloaded, std::string(5'000, 'x') + "\xff"};
  error.retry_after = std::chrono::milliseconds(30);
  const auto reply = MessageIn<v1::BuildManyReply>(EncodeTaggedError(9, error));
  CHECK(reply.tag() == 9);
  CHECK(reply.error().name() == "overloaded");
  CHECK(reply.error().message() == std::string(2'048, 'x'));
  CHECK(reply.error().retry_ms() == 30);
  const auto odd =
      MessageIn<v1::BuildManyReply>(EncodeTaggedError(0, {ErrorCode::kDenied, "a\xff"}));
  CHECK(odd.error().message() == "a?");
  error.request_id = 0x69abc;
  const auto logged = MessageIn<v1::BuildManyReply>(EncodeTaggedError(9, error));
  CHECK(logged.error().message() == std::string(2'048, 'x') + " [request 69abc]");
}

}  // namespace
}  // namespace cccl_cache::daemon::stream_messages_test

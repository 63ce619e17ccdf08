// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/build.pb.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/src/calls/file_answers.h"
#include "proto/digest.h"
#include "tests/support/temporary_directory.h"

namespace build_conversation_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::BuildConversation;
using cccl_cache::ByteChain;
using cccl_cache::Message;

namespace {

using cccl_cache::daemon::TemporaryDirectory;

bool Take(BuildConversation& conversation, const v1::BuildWithFilesReply& reply) {
  const std::string bytes = reply.SerializeAsString();
  Message message = Message::WithRoomFor(bytes.size());
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return conversation.Take(std::move(message));
}

// Returns the conversation's next message; null if there is none.
std::unique_ptr<v1::BuildWithFilesRequest> Next(BuildConversation& conversation) {
  const ByteChain* chain = conversation.Next();
  if (chain == nullptr) return nullptr;
  std::string bytes;
  for (ByteChain::Position at; bytes.size() < chain->size();) {
    std::array<iovec, 1> piece;
    REQUIRE(chain->Describe(at, piece) == 1);
    bytes.append(static_cast<const char*>(piece[0].iov_base), piece[0].iov_len);
    at = chain->Advance(at, piece[0].iov_len);
  }
  auto message = std::make_unique<v1::BuildWithFilesRequest>();
  REQUIRE(bytes.size() >= 5);
  REQUIRE(message->ParseFromString(bytes.substr(5)));
  return message;
}

/// A conversation about one program.
struct Talk {
  explicit Talk(const std::string& source = "", const std::string& working_directory = "/nowhere",
                const std::vector<std::string>& options = {}) {
    std::vector<cccl_cache_bytes> texts;
    for (const std::string& option : options) texts.push_back({option.data(), option.size()});
    cccl_cache_nvrtc program = {};
    program.struct_size = sizeof(program);
    program.source = {source.data(), source.size()};
    program.options = texts.data();
    program.option_count = texts.size();
    cccl_cache_build_options build = {};
    build.struct_size = sizeof(build);
    build.working_directory = {working_directory.data(), working_directory.size()};
    REQUIRE(request.SetProgram(program).ok());
    REQUIRE(request.SetOptions(build).ok());
    request.CopyContents();
    conversation.emplace(request);
  }

  cccl_cache::RequestMessage request;
  std::optional<BuildConversation> conversation;
};

v1::BuildWithFilesReply Ask(const std::vector<std::string>& paths, bool contents) {
  v1::BuildWithFilesReply reply;
  for (const std::string& path : paths) {
    auto& question = *reply.add_questions();
    question.set_path(path);
    question.set_contents(contents);
  }
  return reply;
}

TEST_CASE("questions are answered in their order") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a.h") << "text";
  Talk talk("", directory.path());
  BuildConversation& conversation = *talk.conversation;
  CHECK(Next(conversation) == nullptr);
  REQUIRE(Take(conversation, Ask({directory / "a.h", directory / "b.h"}, true)));
  REQUIRE(Take(conversation, Ask({directory / "a.h", directory.path()}, false)));
  const auto said = Next(conversation);
  REQUIRE((said && said->answers_size() == 4));
  CHECK(said->answers(0).kind() == v1::FILE_KIND_REGULAR);
  CHECK(said->answers(0).contents() == "text");
  CHECK(said->answers(0).size() == 4);
  CHECK(said->answers(0).sha256().empty());
  CHECK(said->answers(1).kind() == v1::FILE_KIND_ABSENT);
  CHECK(said->answers(2).contents().empty());
  CHECK(said->answers(2).sha256() == cccl_cache::Sha256("text").View());
  CHECK(said->answers(2).inode() == said->answers(0).inode());
  CHECK(said->answers(3).kind() == v1::FILE_KIND_DIRECTORY);
  CHECK(Next(conversation) == nullptr);
}

TEST_CASE("a file that the program does not name is not opened") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "key") << "secret";
  std::ofstream(directory / "a.h") << "text";
  Talk talk("#include \"" + directory / "a.h" + "\"\n");
  REQUIRE(Take(*talk.conversation, Ask({directory / "key", directory / "a.h"}, true)));
  const auto said = Next(*talk.conversation);
  REQUIRE((said && said->answers_size() == 2));
  CHECK(said->answers(0).kind() == v1::FILE_KIND_REFUSED);
  CHECK(said->answers(0).contents().empty());
  CHECK(said->answers(1).contents() == "text");
}

TEST_CASE("a large file is sent in pieces") {
  const TemporaryDirectory directory;
  const std::string large((2 << 20) + 7, 'x');
  std::ofstream(directory / "large") << large;
  std::ofstream(directory / "small") << "small";
  Talk talk("", directory.path());
  BuildConversation& conversation = *talk.conversation;
  const auto asked = Ask({directory / "small", directory / "large", directory / "small"}, true);
  REQUIRE(Take(conversation, asked));
  const auto first = Next(conversation);
  REQUIRE((first && first->answers_size() == 2));
  CHECK(first->answers(1).size() == large.size());
  std::string contents = first->answers(1).contents();
  CHECK(contents.size() + 5 == 1 << 20);
  auto next = Next(conversation);
  for (; next && next->answers_size() == 0; next = Next(conversation)) {
    CHECK(next->more().size() <= 1 << 20);
    contents += next->more();
  }
  CHECK(contents == large);
  REQUIRE(next);
  CHECK(next->answers(0).contents() == "small");
  CHECK(Next(conversation) == nullptr);
}

TEST_CASE("many questions are answered in several messages") {
  Talk talk;
  BuildConversation& conversation = *talk.conversation;
  REQUIRE(Take(conversation, Ask(std::vector<std::string>(1500, "/nowhere/a.h"), false)));
  int answers = 0;
  for (auto said = Next(conversation); said; said = Next(conversation)) {
    answers += said->answers_size();
    CHECK(said->answers_size() <= 1000);
  }
  CHECK(answers == 1500);
}

TEST_CASE("a question about an invalid path ends the call") {
  Talk talk;
  BuildConversation& conversation = *talk.conversation;
  CHECK_FALSE(Take(conversation, Ask({"relative.h"}, true)));
  CHECK_FALSE(Take(conversation, Ask({""}, true)));
  CHECK_FALSE(Take(conversation, Ask({std::string("/a\0b", 4)}, true)));
}

TEST_CASE("the answer comes in chunks, and questions from before a restart are forgotten") {
  Talk talk;
  BuildConversation& conversation = *talk.conversation;
  REQUIRE(Take(conversation, Ask({"/nowhere/a.h"}, true)));
  conversation.Restart();
  CHECK(Next(conversation) == nullptr);
  v1::BuildWithFilesReply reply;
  reply.mutable_reply()->add_artifacts()->set_size(3);
  REQUIRE(Take(conversation, reply));
  CHECK_FALSE(conversation.reply().complete());
  reply.Clear();
  reply.set_data("abc");
  REQUIRE(Take(conversation, reply));
  CHECK(conversation.reply().complete());
}

}  // namespace

}  // namespace build_conversation_test

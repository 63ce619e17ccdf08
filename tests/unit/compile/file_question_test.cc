// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include <catch2/catch.hpp>
#include <string>

#include "daemon/compile/protocol/packet.h"

using namespace cccl_cache::daemon;

TEST_CASE("a question is an absolute name with nothing to be cleaned but \"..\"") {
  for (const char* name : {"/", "/a", "/a/b.h", "/a/../b", "/..", "/a/..", "/.a/...", "/a b"}) {
    INFO(name);
    CHECK(IsFileQuestion(name));
    CHECK(DecodeFileQuestion(name).ok());
  }
  for (const char* name :
       {"", "a", "a/b", "///", "///a", "//a/", "/a/", "/a//b", "/./a", "/a/.", "../a"}) {
    INFO(name);
    CHECK_FALSE(IsFileQuestion(name));
    REQUIRE_FALSE(DecodeFileQuestion(name).ok());
    CHECK(DecodeFileQuestion(name).error().code == ErrorCode::kWorkerCrashed);
  }
  CHECK_FALSE(IsFileQuestion(std::string_view("/a\0b", 4)));
}

TEST_CASE("a look into the toolchain is announced as no file can be asked for") {
  CHECK_FALSE(DecodeFileQuestion("/a/b.h")->announces_look);
  const std::string announcement = EncodeAnnouncement("/a/b.h");
  CHECK_FALSE(IsFileQuestion(announcement));
  CHECK(DecodeFileQuestion(announcement)->announces_look);
  CHECK(DecodeFileQuestion(announcement)->name == "/a/b.h");
}

TEST_CASE("a question is shorter than a path may be") {
  CHECK(IsFileQuestion("/" + std::string(PATH_MAX - 2, 'x')));
  CHECK_FALSE(IsFileQuestion("/" + std::string(PATH_MAX - 1, 'x')));
}

namespace {

std::string Answer(FileKind kind, uint64_t identity, uint64_t size, std::string_view contents) {
  return EncodeFileAnswerHeader({kind, identity, size}) + std::string(contents);
}

}  // namespace

TEST_CASE("an answer comes back as it was sent") {
  const std::string packet = Answer(FileKind::kFile, 7, 4, "text");
  const Result<FileAnswerStart> answer = DecodeFileAnswer(packet);
  REQUIRE(answer.ok());
  CHECK(answer->header == FileAnswerHeader{FileKind::kFile, 7, 4});
  CHECK(answer->contents == "text");
  CHECK(DecodeFileAnswer(Answer(FileKind::kAbsent, 0, 0, "")).ok());
  CHECK(DecodeFileAnswer(Answer(FileKind::kDirectory, 1, 0, "")).ok());
  CHECK(DecodeFileAnswer(Answer(FileKind::kFile, 1, 0, "")).ok());
}

TEST_CASE("an answer that contradicts itself is none") {
  const std::string bad[] = {"",
                             Answer(FileKind::kFile, 7, 4, "tex"),
                             Answer(FileKind::kFile, 7, 4, "text!"),
                             Answer(FileKind::kFile, 0, 4, "text"),
                             Answer(FileKind::kAbsent, 1, 0, ""),
                             Answer(FileKind::kDirectory, 0, 0, ""),
                             Answer(FileKind::kDirectory, 1, 1, "x"),
                             Answer(static_cast<FileKind>(3), 1, 0, ""),
                             Answer(FileKind::kFile, 1, kMaxHandedOverBytes + 1,
                                    std::string(kMaxPacketBytes - kFileAnswerHeaderBytes, 'x')),
                             Answer(FileKind::kFile, 1, 0, "").substr(1)};
  for (const std::string& packet : bad) CHECK_FALSE(DecodeFileAnswer(packet).ok());
}

TEST_CASE("what does not fit into the first packet of an answer comes in full ones") {
  const uint64_t size = 3 * kMaxPacketBytes;
  const size_t first = BytesInFirstPacket(size);
  CHECK(first == kMaxPacketBytes - kFileAnswerHeaderBytes);
  CHECK(DecodeFileAnswer(Answer(FileKind::kFile, 1, size, std::string(first, 'x'))).ok());
  CHECK_FALSE(DecodeFileAnswer(Answer(FileKind::kFile, 1, size, std::string(9, 'x'))).ok());
  CHECK(BytesInNextPacket(size - first) == kMaxPacketBytes);
  CHECK(BytesInNextPacket(5) == 5);
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/packet.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace packet_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    a = FileDescriptor(ends[0]);
    b = FileDescriptor(ends[1]);
  }
  FileDescriptor a;
  FileDescriptor b;
};

}  // namespace

TEST_CASE("a packet arrives whole, with its descriptors closed on exec") {
  const Pair pair;
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const FileDescriptor in(pipe_ends[0]);
  const FileDescriptor out(pipe_ends[1]);
  const int fds[] = {in.get(), out.get()};
  REQUIRE(SendPacket(pair.a.get(), "hello", fds));
  const Result<Packet> packet = ReceivePacket(pair.b.get());
  REQUIRE(packet);
  CHECK(packet->bytes == "hello");
  CHECK_FALSE(packet->end);
  REQUIRE(packet->fds.size() == 2);
  CHECK((fcntl(packet->fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write(packet->fds[1].get(), "x", 1) == 1);
  char byte = 0;
  CHECK(read(in.get(), &byte, 1) == 1);
}

TEST_CASE("receiving from a closed peer gives the end, and sending raises no signal") {
  Pair pair;
  pair.a.Close();
  const Result<Packet> packet = ReceivePacket(pair.b.get());
  REQUIRE(packet);
  CHECK(packet->end);
  CHECK_FALSE(SendPacket(pair.b.get(), "x"));
}

TEST_CASE("a packet over the maximum size is an error") {
  const Pair pair;
  const std::string big(kMaxPacketBytes + 1, 'x');
  REQUIRE(send(pair.a.get(), big.data(), big.size(), 0) == static_cast<ssize_t>(big.size()));
  CHECK_FALSE(ReceivePacket(pair.b.get()));
}

TEST_CASE("too many descriptors are an error, and none of them stays open") {
  const Pair pair;
  constexpr size_t kMany = kMaxPacketFds + 3;
  alignas(cmsghdr) char control[CMSG_SPACE(kMany * sizeof(int))] = {};
  char byte = 'x';
  iovec data{&byte, 1};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(kMany * sizeof(int));
  for (size_t i = 0; i < kMany; ++i) reinterpret_cast<int*>(CMSG_DATA(rights))[i] = pair.a.get();
  REQUIRE(sendmsg(pair.a.get(), &header, 0) == 1);
  const int next = dup(pair.a.get());
  close(next);
  CHECK_FALSE(ReceivePacket(pair.b.get()));
  const int after = dup(pair.a.get());
  close(after);
  CHECK(after == next);
}

TEST_CASE("a file question is an absolute name, normal except for \"..\"") {
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

TEST_CASE("the announcement of a toolchain look-up is not decoded as a question") {
  CHECK_FALSE(DecodeFileQuestion("/a/b.h")->announces_look);
  const std::string announcement = EncodeAnnouncement("/a/b.h");
  CHECK_FALSE(IsFileQuestion(announcement));
  CHECK(DecodeFileQuestion(announcement)->announces_look);
  CHECK(DecodeFileQuestion(announcement)->name == "/a/b.h");
}

TEST_CASE("a file question of PATH_MAX bytes or more is refused") {
  CHECK(IsFileQuestion("/" + std::string(PATH_MAX - 2, 'x')));
  CHECK_FALSE(IsFileQuestion("/" + std::string(PATH_MAX - 1, 'x')));
}

namespace {

std::string Answer(FileKind kind, uint64_t identity, uint64_t size, std::string_view contents) {
  return EncodeFileAnswerHeader({kind, identity, size}) + std::string(contents);
}

}  // namespace

TEST_CASE("a file answer decodes to its header and contents") {
  const std::string packet = Answer(FileKind::kFile, 7, 4, "text");
  const Result<FileAnswerStart> answer = DecodeFileAnswer(packet);
  REQUIRE(answer.ok());
  CHECK(answer->header == FileAnswerHeader{FileKind::kFile, 7, 4});
  CHECK(answer->contents == "text");
  CHECK(DecodeFileAnswer(Answer(FileKind::kAbsent, 0, 0, "")).ok());
  CHECK(DecodeFileAnswer(Answer(FileKind::kDirectory, 1, 0, "")).ok());
  CHECK(DecodeFileAnswer(Answer(FileKind::kFile, 1, 0, "")).ok());
}

TEST_CASE("a contradictory file answer is refused") {
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

TEST_CASE("a large file answer fills all packets but the last") {
  const uint64_t size = 3 * kMaxPacketBytes;
  const size_t first = BytesInFirstPacket(size);
  CHECK(first == kMaxPacketBytes - kFileAnswerHeaderBytes);
  CHECK(DecodeFileAnswer(Answer(FileKind::kFile, 1, size, std::string(first, 'x'))).ok());
  CHECK_FALSE(DecodeFileAnswer(Answer(FileKind::kFile, 1, size, std::string(9, 'x'))).ok());
  CHECK(BytesInNextPacket(size - first) == kMaxPacketBytes);
  CHECK(BytesInNextPacket(5) == 5);
}

}  // namespace packet_test

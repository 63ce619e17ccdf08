// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "base/file_descriptor.h"
#include "daemon/compile/protocol/wire_reader.h"
#include "daemon/compile/protocol/wire_writer.h"

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

TEST_CASE("what a writer writes a reader reads") {
  const std::string big(100'000, 'b');
  WireWriter writer;
  writer.U8(7);
  writer.Text(big);
  writer.U32(0x89abcdef);
  writer.Text("");
  writer.U64(0x0123456789abcdef);
  const std::string bytes = writer.Joined();
  CHECK(bytes.size() == writer.size());
  WireReader reader(bytes);
  CHECK(reader.U8() == 7);
  CHECK(reader.Text() == big);
  CHECK(reader.U32() == 0x89abcdef);
  CHECK(reader.Text().empty());
  CHECK(reader.U64() == 0x0123456789abcdef);
  CHECK(reader.Complete());
}

TEST_CASE("a decoded text is a C string where it lies") {
  const std::string big(5000, 'x');
  WireWriter writer;
  writer.Text("abc");
  writer.Text(big);
  const std::string bytes = writer.Joined();
  WireReader reader(bytes);
  CHECK(std::string(reader.Text().data()) == "abc");
  CHECK(std::string(reader.Text().data()) == big);
}

TEST_CASE("a reader that failed stays failed and answers nothing") {
  WireReader reader(
      std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff"
                       "abc",
                       11));
  CHECK(reader.Text().empty());
  CHECK(reader.Text().data() != nullptr);
  CHECK(reader.U8() == 0);
  CHECK(reader.failed());
  CHECK_FALSE(reader.Complete());
}

TEST_CASE("a text without its NUL is malformed") {
  WireWriter writer;
  writer.Text("abc");
  std::string bytes = writer.Joined();
  bytes.back() = 'd';
  WireReader reader(bytes);
  CHECK(reader.Text().empty());
  CHECK(reader.failed());
}

TEST_CASE("a count is bounded by what is left") {
  WireWriter writer;
  writer.U32(3);
  writer.Raw("123456");
  const std::string bytes = writer.Joined();
  CHECK(WireReader(bytes).Count(2) == 3);
  CHECK(WireReader(bytes).Count(3) == 0);
  CHECK(WireReader(std::string_view("\xff\xff\xff\xff", 4)).Count(1) == 0);
}

TEST_CASE("a flag is 0 or 1") {
  CHECK(WireReader(std::string_view("\1", 1)).Flag());
  WireReader reader(std::string_view("\2", 1));
  CHECK_FALSE(reader.Flag());
  CHECK(reader.failed());
}

TEST_CASE("a message is written whole to a socket that takes it in pieces") {
  WireWriter writer;
  for (int i = 0; i < 3000; ++i) {
    writer.U32(static_cast<uint32_t>(i));
    writer.Text(std::string(i % 7, 'a'));
  }
  const std::string big(3'000'000, 'b');
  writer.Text(big);
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  FileDescriptor sender(ends[0]);
  const FileDescriptor receiver(ends[1]);
  bool written = false;
  std::thread thread([&] {
    written = writer.WriteTo(sender.get()).ok();
    sender.Close();
  });
  std::string received;
  char part[4096];
  for (ssize_t length; (length = read(receiver.get(), part, sizeof(part))) > 0;) {
    received.append(part, static_cast<size_t>(length));
  }
  thread.join();
  CHECK(written);
  CHECK(received == writer.Joined());
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/codec.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "base/files/file_descriptor.h"

namespace cccl_cache::codec_test {
namespace {

enum class Letter : uint8_t { kA = 1, kB = 2, kC = 3 };

TEST_CASE("a reader returns the values that a writer wrote") {
  const std::string big(100'000, 'b');
  ByteWriter writer;
  writer.Put<uint8_t>(7).CText(big).Put(0x89abcdef).Text("").Put(0x0123456789abcdef);
  writer.Put(true).Put(Letter::kB).Put(int32_t{-5}).Text(big).Bytes("as they are").Count(9);
  const std::string bytes = writer.Joined();
  CHECK(bytes.size() == writer.size());
  ByteReader reader(bytes);
  CHECK(reader.Take<uint8_t>() == 7);
  CHECK(reader.CText() == big);
  CHECK(reader.Take<uint32_t>() == 0x89abcdef);
  CHECK(reader.Text().empty());
  CHECK(reader.Take<uint64_t>() == 0x0123456789abcdef);
  CHECK(reader.Flag());
  CHECK(reader.TakeEnum(Letter::kA, Letter::kC) == Letter::kB);
  CHECK(reader.Take<int32_t>() == -5);
  CHECK(reader.Text() == big);
  CHECK(reader.Bytes(11) == "as they are");
  CHECK(reader.rest().size() == 4);
  CHECK(reader.Take<uint32_t>() == 9);
  CHECK(reader.complete());
}

TEST_CASE("integers are little endian, and nothing is padded") {
  CHECK(ByteWriter().Put(true).Put(0x01020304).Text("a").CText("b").Joined() ==
        std::string("\1\4\3\2\1\1\0\0\0\0\0\0\0a\1\0\0\0\0\0\0\0b\0", 24));
}

TEST_CASE("a decoded C text is a C string without a copy") {
  const std::string big(5000, 'x');
  const std::string bytes = ByteWriter().CText("abc").CText(big).Joined();
  ByteReader reader(bytes);
  CHECK(std::string(reader.CText().data()) == "abc");
  CHECK(std::string(reader.CText().data()) == big);
}

TEST_CASE("after an error a reader returns only errors") {
  ByteReader reader(
      std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff"
                       "abc",
                       11));
  CHECK(reader.CText().empty());
  CHECK(reader.CText().data() != nullptr);
  CHECK(reader.Take<uint8_t>() == 0);
  CHECK(reader.Text().empty());
  CHECK(reader.Bytes(1).empty());
  CHECK(reader.Count(1) == 0);
  CHECK(reader.TakeEnum(Letter::kA, Letter::kC) == Letter::kA);
  CHECK_FALSE(reader.ok());
  CHECK(reader.rest().empty());
  CHECK_FALSE(reader.complete());
}

TEST_CASE("a C text without its NUL is malformed") {
  std::string bytes = ByteWriter().CText("abc").Joined();
  bytes.back() = 'd';
  ByteReader reader(bytes);
  CHECK(reader.CText().empty());
  CHECK_FALSE(reader.ok());
}

TEST_CASE("a count is bounded by the remaining bytes") {
  const std::string bytes = ByteWriter().Count(3).Bytes("123456").Joined();
  CHECK(ByteReader(bytes).Count(2) == 3);
  CHECK(ByteReader(bytes).Count(3) == 0);
  CHECK(ByteReader(std::string_view("\xff\xff\xff\xff", 4)).Count(1) == 0);
}

TEST_CASE("a flag that is neither 0 nor 1 is malformed") {
  CHECK(ByteReader(std::string_view("\1", 1)).Flag());
  ByteReader reader(std::string_view("\2", 1));
  CHECK_FALSE(reader.Flag());
  CHECK_FALSE(reader.ok());
}

TEST_CASE("an enumerator outside the range is malformed") {
  for (const std::string_view byte : {std::string_view("\0", 1), std::string_view("\4", 1)}) {
    ByteReader reader(byte);
    CHECK(reader.TakeEnum(Letter::kA, Letter::kC) == Letter::kA);
    CHECK_FALSE(reader.ok());
  }
}

TEST_CASE("a number from 2^63 on is malformed if it must not be negative") {
  const std::string largest = ByteWriter().Put(INT64_MAX).Joined();
  CHECK(ByteReader(largest).NonNegative() == INT64_MAX);
  const std::string beyond = ByteWriter().Put(INT64_MIN).Joined();
  ByteReader reader(beyond);
  CHECK(reader.NonNegative() == 0);
  CHECK_FALSE(reader.ok());
}

TEST_CASE("joined bytes have the requested capacity") {
  CHECK(ByteWriter().Text(std::string_view("abc")).Joined(1000).capacity() >= 1011);
}

TEST_CASE("a message is written whole to a socket that takes it in pieces") {
  ByteWriter writer;
  for (int i = 0; i < 3000; ++i) {
    const std::string text(i % 7, 'a');
    writer.Put(i).CText(text);
  }
  const std::string big(3'000'000, 'b');
  writer.CText(big);
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  FileDescriptor sender(ends[0]);
  const FileDescriptor receiver(ends[1]);
  bool written = false;
  std::thread thread([&] {
    written = writer.WriteTo(sender.get()) == 0;
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

}  // namespace
}  // namespace cccl_cache::codec_test

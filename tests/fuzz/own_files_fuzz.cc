// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Inputs of a build without a daemon: the library's request, and small files of the user with any
// contents. The input is tried as both.
#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/user_cache.h"
#include "daemon/local/request_io.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/temporary_directory.h"

namespace {

constexpr size_t kHead = 5;
// At most as many bytes as a socket holds unread.
constexpr size_t kMaxInput = 64 << 10;

const cccl_cache::daemon::TemporaryDirectory& Home() {
  static const cccl_cache::daemon::TemporaryDirectory home;
  return home;
}

// Checks that a request is refused, or is the bytes after its head.
void ReadRequest(std::string_view input) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const bool sent = send(ends[0], input.data(), input.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(input.size());
  close(ends[0]);
  const auto request = cccl_cache::daemon::ReceiveRequest(ends[1]);
  close(ends[1]);
  if (sent && request) assert(*request == input.substr(kHead, request->size()));
}

// Checks that a value is the whole file.
void ReadValue(std::string_view input) {
  Home().Write("values/value", input);
  assert(cccl_cache::UserCache(Home() / "values", 1).Get("value") == input);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {std::string("\0\0\0\0\3abcd", 9), std::string("\0\xff\xff\xff\xff", 5) + "abc",
          "a value"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxInput) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  ReadRequest(input);
  ReadValue(input);
  return 0;
}

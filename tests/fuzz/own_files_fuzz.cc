// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// What a build without a daemon and the command line read: the library's request, and small files
// of the user's, which anything may have been written into. The input is each of them in turn.
#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/driver_cache.h"
#include "daemon/local/identity_cache.h"
#include "daemon/local/request_io.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/temporary_directory.h"

namespace {

constexpr std::string_view kSurroundings = "a start\nno mounts\n";
constexpr size_t kMaxFact = 4096;
constexpr size_t kHead = 5;
// What a socket takes before anybody reads.
constexpr size_t kMaxInput = 64 << 10;

const cccl_cache::daemon::TemporaryDirectory& Home() {
  static const cccl_cache::daemon::TemporaryDirectory home;
  return home;
}

// A request is what stands behind its head, all of it or nothing.
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

// A fact is the whole file, or it is not known.
void ReadFact(std::string_view input) {
  const std::string directory = Home() / "facts";
  Home().Write("facts/fact", input);
  cccl_cache::daemon::IdentityCache cache(directory);
  const auto fact = cache.GetMeta("fact");
  assert(fact.has_value() == (input.size() <= kMaxFact));
  if (fact) assert(*fact == input);
}

// A version is believed only as it was kept; another is asked for once.
void ReadDriver(std::string_view input) {
  const std::string directory = Home() / "driver";
  Home().Write("driver/driver", input);
  const cccl_cache::cli::DriverMemory memory(directory, std::string(kSurroundings));
  int asked = 0;
  const auto ask = [&asked] {
    ++asked;
    return 12345u;
  };
  const uint32_t version = memory.Version(ask);
  if (asked == 0) assert(input.ends_with(kSurroundings) && version != 0);
  assert(memory.Version(ask) == version);
  assert(asked <= 1);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {std::string("\0\0\0\0\3abcd", 9), std::string("\0\xff\xff\xff\xff", 5) + "abc", "a fact",
          "13000\n" + std::string(kSurroundings), "13000\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxInput) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  ReadRequest(input);
  ReadFact(input);
  ReadDriver(input);
  return 0;
}

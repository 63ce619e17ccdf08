// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/attacks.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "daemon/compile/protocol/frame.h"
#include "daemon/worker/sandbox/isolation.h"
#include "tests/support/fake_toolchain/futex.h"

namespace fake_toolchain {
namespace {

[[noreturn]] void Hang() {
  std::atomic<uint32_t> never{0};
  for (;;) FutexWait(never, 0, nullptr);
}

[[noreturn]] void Spin() {
  for (volatile bool spinning = true; spinning;) {
  }
  std::abort();
}

/// Recurses until the stack ends.
int Recurse(volatile const char* caller) {
  volatile char frame[4096];
  frame[0] = caller[0];
  return frame[0] == 0 ? Recurse(frame) + frame[0] : 0;
}

void Crash() {
  volatile uintptr_t nowhere = 16;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

/// Writes junk into every open descriptor until a reader ends the process.
[[noreturn]] void Flood() {
  const std::string junk(64 * 1024, '\x5a');
  for (;;) {
    bool written = false;
    for (int fd = 0; fd < 1024; ++fd) written |= write(fd, junk.data(), junk.size()) > 0;
    if (!written) _exit(0);
  }
}

/// Writes the same bytes once into every open descriptor, then exits normally.
[[noreturn]] void Say(const std::string& bytes) {
  for (int fd = 0; fd < 1024; ++fd) (void)!write(fd, bytes.data(), bytes.size());
  _exit(0);
}

/// Sends the head of an answer, with a length chosen by `kind`, and 64 bytes of junk to the daemon.
/// Returns only if the write fails.
void Answer(const std::string& kind) {
  const uint64_t promised = kind == "huge"        ? ~0ull
                            : kind == "malformed" ? 64
                            : kind == "stalled"   ? cccl_cache::daemon::kMaxReplyBytes
                                                  : 1 << 20;
  std::string bytes = "CCRF";
  bytes.append(reinterpret_cast<const char*>(&cccl_cache::daemon::kWorkerProtocol), 4);
  bytes.append(reinterpret_cast<const char*>(&promised), 8);
  bytes.append(64, '\xff');
  const ssize_t size = static_cast<ssize_t>(bytes.size());
  if (write(cccl_cache::daemon::kReplyFd, bytes.data(), bytes.size()) != size) return;
  if (kind == "stalled") Hang();
  _exit(0);
}

}  // namespace

bool Attack(const std::string& command, const std::string& argument) {
  if (command == "crash") {
    Crash();
  } else if (command == "abort") {
    std::abort();
  } else if (command == "hang") {
    Hang();
  } else if (command == "spin") {
    Spin();
  } else if (command == "recurse") {
    const char start[1] = {0};
    Recurse(start);
  } else if (command == "exit") {
    _exit(std::atoi(argument.c_str()));
  } else if (command == "flood") {
    Flood();
  } else if (command == "say") {
    Say(argument);
  } else if (command == "answer") {
    Answer(argument);
  } else {
    return false;
  }
  return true;
}

}  // namespace fake_toolchain

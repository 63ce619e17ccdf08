// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/attacks.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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

/// Ends at the stack's: no caller hands over anything but a zero.
int Recurse(volatile const char* caller) {
  volatile char frame[4096];
  frame[0] = caller[0];
  return frame[0] == 0 ? Recurse(frame) + frame[0] : 0;
}

void Crash() {
  volatile uintptr_t nowhere = 16;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

/// Junk into everything that is open, over and over: whoever reads must end it.
[[noreturn]] void Flood() {
  const std::string junk(64 * 1024, '\x5a');
  for (;;) {
    bool written = false;
    for (int fd = 0; fd < 1024; ++fd) written |= write(fd, junk.data(), junk.size()) > 0;
    if (!written) _exit(0);
  }
}

/// The same bytes once into everything that is open, then the orderly end of a process.
[[noreturn]] void Say(const std::string& bytes) {
  for (int fd = 0; fd < 1024; ++fd) (void)!write(fd, bytes.data(), bytes.size());
  _exit(0);
}

void Fork(std::string& notes) {
  const pid_t child = fork();
  if (child == 0) Hang();
  notes += child < 0 ? std::string("fork: ") + std::strerror(errno) + "\n" : "fork: done\n";
}

void Connect(std::string& notes) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  notes += fd < 0 ? std::string("socket: ") + std::strerror(errno) + "\n" : "socket: made\n";
  if (fd >= 0) close(fd);
}

void KillParent(std::string& notes) {
  const bool done = kill(getppid(), SIGKILL) == 0;
  notes += done ? "kill: done\n" : std::string("kill: ") + std::strerror(errno) + "\n";
}

}  // namespace

bool Attack(const std::string& command, const std::string& argument, std::string& notes) {
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
  } else if (command == "fork") {
    Fork(notes);
  } else if (command == "connect") {
    Connect(notes);
  } else if (command == "kill-parent") {
    KillParent(notes);
  } else {
    return false;
  }
  return true;
}

}  // namespace fake_toolchain

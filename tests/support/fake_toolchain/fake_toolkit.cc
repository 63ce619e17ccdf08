// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/fake_toolkit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "tests/support/fake_toolchain/futex.h"

namespace fake_toolchain {
namespace {

using Clock = std::chrono::steady_clock;

/// Makes a file of zeros and maps it.
Control* MakeControl(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(Control)) == 0) {
    memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Control*>(memory);
}

}  // namespace

std::unique_ptr<FakeToolkit> FakeToolkit::Copy(int major) {
  std::string root = std::string(FAKE_TOOLCHAIN_DIRECTORY) + "/copy-XXXXXX";
  if (mkdtemp(root.data()) == nullptr) return nullptr;
  const std::string original =
      std::string(FAKE_TOOLCHAIN_DIRECTORY) + "/fake_cuda" + std::to_string(major);
  std::error_code error;
  std::filesystem::permissions(root, std::filesystem::perms(0755), error);
  std::filesystem::copy(original, root, std::filesystem::copy_options::recursive, error);
  Control* control = error ? nullptr : MakeControl(root + "/control");
  if (control == nullptr) {
    std::filesystem::remove_all(root, error);
    return nullptr;
  }
  return std::unique_ptr<FakeToolkit>(new FakeToolkit(std::move(root), control));
}

FakeToolkit::~FakeToolkit() {
  munmap(control_, sizeof(Control));
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void FakeToolkit::Open(const std::string& gate) {
  GateNamed(*control_, gate).open.store(1);
  FutexWakeAll(GateNamed(*control_, gate).open);
}

bool FakeToolkit::WaitForArrivals(const std::string& gate, uint32_t count,
                                  std::chrono::seconds deadline) {
  std::atomic<uint32_t>& arrivals = GateNamed(*control_, gate).arrivals;
  const Clock::time_point end = Clock::now() + deadline;
  for (uint32_t seen = arrivals.load(); seen < count; seen = arrivals.load()) {
    if (Clock::now() >= end) return false;
    const timespec step{.tv_sec = 0, .tv_nsec = 100'000'000};
    FutexWait(arrivals, seen, &step);
  }
  return true;
}

}  // namespace fake_toolchain

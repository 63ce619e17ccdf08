// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "base/files/file_descriptor.h"
#include "base/files/file_size_limit.h"
#include "base/owner_process.h"
#include "client/interpose/wait.h"
#include "proto/options/options.h"

namespace cccl_cache::interpose {
namespace {

/// The counts in a mapped file, and the process that they belong to. A forked child inherits the
/// mapping, and must not add to the parent's counts.
struct OwnCounts : ProcessCounts {
  const OwnerProcess process;
};

/// Creates a file in the report's directory and maps counts in it. Returns null if no report was
/// requested or the file can't be created.
OwnCounts* MapCounts() {
  const char* directory = secure_getenv(ProcessCounts::kVariable);
  if (directory == nullptr || !MayMakeFile(sizeof(OwnCounts))) return nullptr;
  std::string name = std::string(directory) + "/XXXXXX";
  const FileDescriptor file(mkostemp(name.data(), O_CLOEXEC));
  // Allocates the file's blocks before it is mapped: on a full disk, a write to a mapping without
  // blocks would kill the program.
  if (!file.valid() || posix_fallocate(file.get(), 0, sizeof(OwnCounts)) != 0) return nullptr;
  void* const memory =
      mmap(nullptr, sizeof(OwnCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const counts = new (memory) OwnCounts;
  counts->pid = getpid();
  if (const char* run = secure_getenv(kStepVariable)) counts->step_of = std::atoi(run);
  const FileDescriptor comm(open("/proc/self/comm", O_RDONLY | O_CLOEXEC));
  const ssize_t size = read(comm.get(), counts->program, sizeof(counts->program) - 1);
  if (size > 0) counts->program[size - 1] = '\0';
  return counts;
}

uint64_t Microseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

}  // namespace

CountedCall::CountedCall() { ++Counts().calls; }

void CountedCall::Forward(Reason why) {
  ++Counts().forwarded[static_cast<size_t>(why)];
  forwarded_ = Clock::now();
}

CountedCall::~CountedCall() {
  const Clock::time_point now = Clock::now();
  Counts().call_us += Microseconds(now - start_);
  if (forwarded_) Counts().forwarded_us += Microseconds(now - *forwarded_);
}

ProcessCounts& Counts() {
  static ProcessCounts unreported;
  static std::atomic<ProcessCounts*> kept{nullptr};
  ProcessCounts* known = kept.load();
  if (known == &unreported) return unreported;
  if (known != nullptr && static_cast<OwnCounts*>(known)->process.IsThis()) return *known;
  // This is the first call of this process. If two threads get here at the same time, both create a
  // file, and the counts of one file stay zero.
  ProcessCounts* made = MapCounts();
  if (made == nullptr) made = &unreported;
  return kept.compare_exchange_strong(known, made) ? *made : *known;
}

void KeepRefusal(std::string_view message) {
  ProcessCounts& counts = Counts();
  if (counts.refused.exchange(true)) return;
  // The daemon's message may advise to compile locally. That advice is removed, because the real
  // library or tool compiles next anyway.
  const std::string text = WithoutLocalBuildAdvice(std::string(message));
  text.copy(counts.refusal, sizeof(counts.refusal) - 1);
}

void KeepUnknownLibrary(std::string_view path) {
  ProcessCounts& counts = Counts();
  if (path.size() >= sizeof(counts.unknown_library) || counts.library_kept.exchange(true)) return;
  path.copy(counts.unknown_library, path.size());
}

void CountUncacheable(std::string_view reason) {
  ProcessCounts& counts = Counts();
  if (counts.uncacheable++ > 0) return;
  reason.copy(counts.uncacheable_reason, sizeof(counts.uncacheable_reason) - 1);
}

}  // namespace cccl_cache::interpose

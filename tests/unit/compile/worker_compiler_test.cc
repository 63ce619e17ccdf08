// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/worker_compiler.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/root.h"
#include "tests/unit/compile/compile_fixture.h"

namespace cccl_cache::daemon::worker_compiler_test {
namespace {

using Catch::Matchers::Contains;
using cccl_cache::ArtifactKind;
using Clock = std::chrono::steady_clock;

ErrorCode CodeOf(const Result<CompileOutput>& output) {
  INFO("the job was expected to end in an error");
  REQUIRE(!output.ok());
  return output.error().code;
}

TEST_CASE("a job's outputs come back with their digests") {
  CompileFixture fixture;
  const Result<CompileOutput> output = fixture.Compile("//fake: warn careful");
  CHECK_THAT(PartOf(output, ArtifactKind::kCubin), Contains("compiler 13.0"));
  CHECK_THAT(PartOf(output, ArtifactKind::kPtx), Contains("arch sm_90"));
  CHECK(output->succeeded);
  CHECK(output->native_code == 0);
  CHECK(output->artifact->log == "warning: careful\n");
  CHECK(output->artifact->compile_time.count() > 0);
  for (const ArtifactPart& part : output->artifact->parts) {
    CHECK(part.sha256 == cccl_cache::Sha256(part.bytes));
  }
}

TEST_CASE("lowered names come back for the expressions that were asked for") {
  CompileFixture fixture;
  cccl_cache::NvrtcProgram program;
  program.name_expressions = {"a<int>", "b<int>"};
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = program;
  CompileJob job = fixture.NvrtcJob("");
  job.request = request;
  const Result<CompileOutput> output =
      fixture.compiler.Compile(job, CompileFixture::SmallLimits(), {});
  REQUIRE(output.ok());
  REQUIRE(output->artifact->lowered_names.size() == 2);
  CHECK(output->artifact->lowered_names[0].first == "a<int>");
}

TEST_CASE("a link and an NVVM job run in workers too") {
  CompileFixture fixture;
  const CompileLimits limits = CompileFixture::SmallLimits();
  CHECK_THAT(PartOf(fixture.compiler.Compile(fixture.LinkJob("fake LTO-IR"), limits, {}),
                    ArtifactKind::kCubin),
             Contains("linked"));
  CHECK_THAT(
      PartOf(fixture.compiler.Compile(fixture.NvvmJob("module"), limits, {}), ArtifactKind::kPtx),
      Contains("fake PTX from NVVM IR"));
  CHECK(fixture.toolkit->links() == 1);
  CHECK(fixture.toolkit->nvvm_compiles() == 1);
}

TEST_CASE("a compile failure is an output with the library's code and log") {
  CompileFixture fixture;
  const Result<CompileOutput> output = fixture.Compile("//fake: fail no such type");
  REQUIRE(output.ok());
  CHECK_FALSE(output->succeeded);
  CHECK(output->native_code == 6);
  CHECK(output->native_name == "NVRTC_ERROR_COMPILATION");
  CHECK(output->artifact->log == "error: no such type\n");
  CHECK(output->artifact->parts.empty());
}

TEST_CASE("crashing_compiler: a worker that a signal killed fails only its own job") {
  CompileFixture fixture;
  const Result<CompileOutput> crashed = fixture.Compile("//fake: crash");
  CHECK(CodeOf(crashed) == ErrorCode::kWorkerCrashed);
  CHECK_THAT(crashed.error().message, Contains("SIGSEGV"));
  const Result<CompileOutput> aborted = fixture.Compile("//fake: abort");
  CHECK(CodeOf(aborted) == ErrorCode::kWorkerCrashed);
  CHECK_THAT(aborted.error().message, Contains("SIGABRT"));
  CHECK(fixture.Compile("").ok());
}

TEST_CASE("crashing_compiler: the zygote of a crashed worker is replaced") {
  CompileFixture fixture;
  REQUIRE(fixture.compiler.Warm(*fixture.toolchain).ok());
  const pid_t zygote = ChildrenOf().at(0);
  CHECK_FALSE(fixture.Compile("//fake: crash").ok());
  CHECK(fixture.Compile("").ok());
  CHECK(ChildrenOf().at(0) != zygote);
  CHECK(fixture.toolkit->loads() == 2);
  REQUIRE(fixture.reports().size() == 1);
  CHECK_THAT(fixture.reports()[0], Contains("SIGSEGV"));
}

TEST_CASE("crashing_compiler: an endless recursion crashes the worker, not the daemon") {
  CompileFixture fixture;
  const Result<CompileOutput> output = fixture.Compile("//fake: recurse");
  CHECK(CodeOf(output) == ErrorCode::kWorkerCrashed);
  CHECK_THAT(output.error().message, Contains("SIGSEGV"));
}

TEST_CASE("hanging_compiler: a job is ended at its time limit, whether it sleeps or spins") {
  CompileFixture fixture;
  REQUIRE(fixture.compiler.Warm(*fixture.toolchain).ok());
  for (const char* source : {"//fake: hang", "//fake: spin"}) {
    CompileLimits limits = CompileFixture::SmallLimits();
    limits.time = std::chrono::milliseconds(200);
    const Clock::time_point start = Clock::now();
    const Result<CompileOutput> output = fixture.Compile(source, limits);
    CHECK(CodeOf(output) == ErrorCode::kTimedOut);
    CHECK_THAT(output.error().message, Contains("0.2 s"));
    CHECK(Clock::now() - start >= limits.time);
    CHECK(Clock::now() - start < std::chrono::seconds(5));
    CHECK(WorkersOf(ChildrenOf().at(0)).empty());
  }
  CHECK(fixture.Compile("").ok());
}

TEST_CASE("exhausted_compiler: a lack of memory is never reported as a compile failure") {
  CompileFixture fixture;
  for (const char* source :
       {"//fake: allocate 2G", "//fake: allocate-or-abort 2G", "//fake: out-of-memory"}) {
    INFO(source);
    const Result<CompileOutput> output = fixture.Compile(source);
    CHECK(CodeOf(output) == ErrorCode::kOutOfMemory);
    CHECK_THAT(output.error().message, Contains("256 MiB"));
  }
  const CompileLimits limits = CompileFixture::SmallLimits();
  CHECK(CodeOf(fixture.compiler.Compile(fixture.NvvmJob("; fake: out-of-memory"), limits, {})) ==
        ErrorCode::kOutOfMemory);
  CHECK(CodeOf(fixture.compiler.Compile(fixture.LinkJob("fake LTO-IR\n//fake: out-of-memory"),
                                        limits, {})) == ErrorCode::kOutOfMemory);
  CHECK(fixture.Compile("//fake: allocate 64M").ok());
}

TEST_CASE("a worker's peak memory is reported, whether it succeeds or dies") {
  CompileFixture fixture;
  constexpr uint64_t kAllocated = 100ull << 20;
  const auto peak_of = [&](const std::string& source) {
    CompileJob job = fixture.NvrtcJob(source);
    uint64_t peak = 1;
    job.peak_bytes = &peak;
    static_cast<void>(fixture.compiler.Compile(job, CompileFixture::SmallLimits(), {}));
    return peak;
  };
  const uint64_t small = peak_of("");
  CHECK(small > 1);
  const uint64_t large = peak_of("//fake: allocate 100M");
  CHECK(large >= kAllocated);
  CHECK(peak_of("//fake: allocate 100M\n//fake: crash") >= kAllocated);
}

TEST_CASE("a running job that is cancelled is ended at once") {
  CompileFixture fixture;
  std::stop_source stop;
  std::jthread impatient([&] {
    CHECK(fixture.toolkit->WaitForArrivals("never", 1));
    stop.request_stop();
  });
  const Result<CompileOutput> output = fixture.compiler.Compile(
      fixture.NvrtcJob("//fake: wait-for never"), CompileFixture::SmallLimits(), stop.get_token());
  CHECK(CodeOf(output) == ErrorCode::kCancelled);
  CHECK(WorkersOf(ChildrenOf().at(0)).empty());
}

TEST_CASE("a job that is cancelled before its start is never compiled") {
  CompileFixture fixture;
  std::stop_source stop;
  stop.request_stop();
  const Result<CompileOutput> output = fixture.compiler.Compile(
      fixture.NvrtcJob("//fake: hang"), CompileFixture::SmallLimits(), stop.get_token());
  CHECK(CodeOf(output) == ErrorCode::kCancelled);
}

TEST_CASE("a background job's worker has idle priority, other workers have normal priority") {
  CompileFixture fixture;
  const auto policy_of = [&](bool background) {
    const std::string gate = background ? "background" : "other";
    CompileJob job = fixture.NvrtcJob("//fake: wait-for " + gate);
    job.background = background;
    std::jthread caller(
        [&] { (void)fixture.compiler.Compile(job, CompileFixture::SmallLimits(), {}); });
    CHECK(fixture.toolkit->WaitForArrivals(gate, 1));
    const std::vector<pid_t> workers = WorkersOf(ChildrenOf().at(0));
    const int policy = workers.size() == 1 ? sched_getscheduler(workers[0]) : -1;
    fixture.toolkit->Open(gate);
    return policy;
  };
  CHECK(policy_of(true) == SCHED_IDLE);
  CHECK(policy_of(false) == SCHED_OTHER);
}

TEST_CASE("a job reads the headers in the compiler's library, also after a job without them") {
  CompileFixture fixture;
  REQUIRE(fixture.Compile("first").ok());
  CompileJob job =
      fixture.NvrtcJob("#include <bundled.h>\n#include <nested.h>\n",
                       {"-arch=sm_90", "-I/cccl-root-bundled", "-I/cccl-root-bundled/cccl"});
  const auto succeeds = [&] {
    const auto output = fixture.compiler.Compile(job, CompileFixture::SmallLimits(), {});
    REQUIRE(output.ok());
    return output->succeeded;
  };
  CHECK_FALSE(succeeds());
  job.bundled_headers = true;
  CHECK(succeeds());
  CHECK(succeeds());
  job.bundled_headers = false;
  CHECK_FALSE(succeeds());
}

TEST_CASE("a worker's output is an answer only if it is one frame before a normal exit") {
  CompileFixture fixture;
  for (const char* source :
       {"//fake: flood", "//fake: say CCRF", "//fake: exit 0", "//fake: exit 3"}) {
    INFO(source);
    CHECK(CodeOf(fixture.Compile(source)) == ErrorCode::kWorkerCrashed);
  }
  CHECK_THAT(fixture.Compile("//fake: exit 3").error().message, Contains("exit status 3"));
  CHECK(fixture.Compile("").ok());
  CHECK(fixture.toolkit->loads() == 1);
}

TEST_CASE("a large output arrives whole") {
  CompileFixture fixture;
  CompileLimits limits = CompileFixture::SmallLimits();
  limits.memory_bytes = 512ull << 20;
  const Result<CompileOutput> output = fixture.Compile("//fake: output-size 48M", limits);
  CHECK(PartOf(output, ArtifactKind::kCubin).size() == 48u << 20);
}

TEST_CASE("a large source arrives whole") {
  CompileFixture fixture;
  const std::string comment(32u << 20, '/');
  const Result<CompileOutput> output = fixture.Compile(comment + "\n//fake: warn at the end");
  REQUIRE(output.ok());
  CHECK(output->artifact->log == "warning: at the end\n");
}

TEST_CASE("many concurrent jobs share one zygote, and each gets its own answer") {
  CompileFixture fixture;
  constexpr int kThreads = 8;
  constexpr int kJobs = 5;
  std::vector<int> right(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int job = 0; job < kJobs; ++job) {
          const std::string text = std::to_string(thread) + "." + std::to_string(job);
          const Result<CompileOutput> output = fixture.Compile("//fake: warn " + text);
          right[thread] += output.ok() && output->artifact->log == "warning: " + text + "\n";
        }
      });
    }
  }
  for (const int count : right) CHECK(count == kJobs);
  CHECK(fixture.toolkit->loads() == 1);
}

TEST_CASE("two toolchains have a zygote each") {
  CompileFixture thirteen;
  CompileFixture twelve({}, 12);
  CompileJob job = twelve.NvrtcJob("");
  const Result<CompileOutput> output =
      thirteen.compiler.Compile(job, CompileFixture::SmallLimits(), {});
  CHECK_THAT(PartOf(output, ArtifactKind::kCubin), Contains("compiler 12.4"));
  CHECK_THAT(PartOf(thirteen.Compile(""), ArtifactKind::kCubin), Contains("compiler 13.0"));
  job.options.push_back("-frandom-seed=1");
  const Result<CompileOutput> refused =
      thirteen.compiler.Compile(job, CompileFixture::SmallLimits(), {});
  REQUIRE(refused.ok());
  CHECK(refused->native_code == 5);
}

TEST_CASE("a job leaves no process or descriptor behind, however it ends") {
  CompileFixture fixture;
  REQUIRE(fixture.Compile("").ok());
  const size_t descriptors = OpenDescriptors();
  CompileLimits limits = CompileFixture::SmallLimits();
  for (const char* source : {"", "//fake: fail x", "//fake: crash", "//fake: flood",
                             "//fake: exit 0", "//fake: allocate 2G"}) {
    (void)fixture.Compile(source, limits).ok();
  }
  limits.time = std::chrono::milliseconds(50);
  (void)fixture.Compile("//fake: hang", limits).ok();
  std::stop_source stop;
  stop.request_stop();
  (void)fixture.compiler.Compile(fixture.NvrtcJob("//fake: hang"), limits, stop.get_token()).ok();
  CHECK(OpenDescriptors() == descriptors);
  REQUIRE(ChildrenOf().size() == 1);
  CHECK(WorkersOf(ChildrenOf()[0]).empty());
  CHECK(ChildrenOf(ChildrenOf()[0]).size() <= 1);
}

TEST_CASE("a spare worker has no descriptor of the previous job open", "[root]") {
  RequireRoot();  // only root can inspect a process that is not dumpable
  CompileFixture fixture;
  REQUIRE(fixture.Compile("").ok());
  const pid_t zygote = ChildrenOf().at(0);
  REQUIRE(WaitForChildren(zygote, 1));
  // The zygote also has the daemon's socket, its signal descriptor and one end of a socket pair.
  // The spare worker has the other end.
  const auto only_its_own = [&] {
    return OpenDescriptors(ChildrenOf(zygote).at(0)) == OpenDescriptors(zygote) - 2;
  };
  // Both close the job's descriptors after some time.
  const Clock::time_point until = Clock::now() + std::chrono::seconds(20);
  while (!only_its_own() && Clock::now() < until) std::this_thread::yield();
  CHECK(only_its_own());
}

TEST_CASE("a job runs in the spare worker, or in a new worker if the spare one died") {
  CompileFixture fixture;
  REQUIRE(fixture.Compile("").ok());
  const pid_t zygote = ChildrenOf().at(0);
  REQUIRE(WaitForChildren(zygote, 1));
  const std::vector<pid_t> spare = ChildrenOf(zygote);
  std::stop_source stop;
  std::jthread impatient([&] {
    CHECK(fixture.toolkit->WaitForArrivals("never", 1));
    CHECK(WorkersOf(zygote) == spare);
    stop.request_stop();
  });
  (void)fixture.compiler.Compile(fixture.NvrtcJob("//fake: wait-for never"),
                                 CompileFixture::SmallLimits(), stop.get_token());
  impatient.join();
  REQUIRE(WaitForChildren(zygote, 1));
  kill(ChildrenOf(zygote).at(0), SIGKILL);
  REQUIRE(WaitForChildren(zygote, 0));
  CHECK(fixture.Compile("").ok());
  CHECK(ChildrenOf().at(0) == zygote);
}

constexpr size_t kMiB = 1 << 20;

PchDraft Make() {
  auto draft = PchDraft::Make();
  REQUIRE(draft.ok());
  return *std::move(draft);
}

/// Seals a header whose zygote is gone.
std::shared_ptr<const Precompiled> Sealed(PchDraft draft) {
  auto sealed = std::move(draft).Seal(nullptr);
  INFO((sealed.ok() ? "" : sealed.error().message));
  REQUIRE(sealed.ok());
  return *std::move(sealed);
}

void Write(const PchDraft& draft, const std::string& text) {
  REQUIRE(write(draft.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("each worker reads a precompiled header from its beginning and can't change it") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  const auto sealed = Sealed(std::move(draft));
  const auto& header = dynamic_cast<const PrecompiledHeader&>(*sealed);
  for (int worker = 0; worker < 2; ++worker) {
    const FileDescriptor fd = header.OpenForWorker();
    REQUIRE(fd.valid());
    char text[16] = {};
    CHECK(read(fd.get(), text, sizeof(text)) == 6);
    CHECK(std::string(text) == "parsed");
    CHECK(write(fd.get(), "x", 1) == -1);
    CHECK((fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("a sealed precompiled header can't be changed through an older descriptor") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  const FileDescriptor kept(fcntl(draft.fd(), F_DUPFD_CLOEXEC, 0));
  const auto sealed = Sealed(std::move(draft));
  CHECK(pwrite(kept.get(), "x", 1, 0) == -1);
  CHECK(ftruncate(kept.get(), 100) == -1);
  CHECK(fcntl(kept.get(), F_GET_SEALS) ==
        (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL));
}

TEST_CASE("a precompiled header with a writable mapping is refused") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  void* const mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, draft.fd(), 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto sealed = std::move(draft).Seal(nullptr);
  REQUIRE_FALSE(sealed.ok());
  CHECK(sealed.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(sealed.error().message, Contains("sealing a precompiled header"));
  munmap(mapped, 4096);
}

TEST_CASE("a precompiled header without contents is refused") {
  const auto sealed = Make().Seal(nullptr);
  REQUIRE_FALSE(sealed.ok());
  CHECK(sealed.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(sealed.error().message, Contains("wrote no precompiled header"));
}

TEST_CASE("the size of a precompiled header is its length, or its blocks if these are more") {
  PchDraft sparse = Make();
  REQUIRE(ftruncate(sparse.fd(), 3 * kMiB) == 0);
  CHECK(Sealed(std::move(sparse))->bytes() >= 3 * kMiB);
  PchDraft behind_its_end = Make();
  Write(behind_its_end, "x");
  REQUIRE(fallocate(behind_its_end.fd(), FALLOC_FL_KEEP_SIZE, 0, 3 * kMiB) == 0);
  CHECK(Sealed(std::move(behind_its_end))->bytes() >= 3 * kMiB);
}

TEST_CASE("a precompiled header is unusable without the zygote of its writer") {
  PchDraft draft = Make();
  Write(draft, "parsed");
  const auto sealed = Sealed(std::move(draft));
  CHECK_FALSE(sealed->usable());
  CHECK(dynamic_cast<const PrecompiledHeader&>(*sealed).zygote() == nullptr);
}

}  // namespace
}  // namespace cccl_cache::daemon::worker_compiler_test

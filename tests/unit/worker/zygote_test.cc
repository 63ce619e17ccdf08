// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Tests that act as the daemon of zygotes in child processes of the test. Zygote, worker, isolation
// and sandbox thus run under the sanitizers, which do not instrument the compilers' libraries.
#include "daemon/worker/zygote.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "daemon/compile/protocol/job.h"
#include "tests/support/fake_toolchain/fake_toolkit.h"
#include "tests/support/wait_until.h"
#include "tests/unit/compile/job_of.h"
#include "tests/unit/compile/real_toolchain.h"
#include "tests/unit/worker/answering_daemon.h"
#include "tests/unit/worker/running_zygote.h"

namespace zygote_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;
using fake_toolchain::FakeToolkit;

namespace {

constexpr const char* kKernel = "extern \"C\" __global__ void k() {}\n";

ZygoteHello HelloFor(const FakeToolkit& toolkit) {
  const std::string& root = toolkit.root();
  return {.nvrtc =
              LibraryFiles{root + "/lib/libnvrtc.so.13", {root + "/lib/libnvrtc-builtins.so.13.0"}},
          .nvjitlink = LibraryFiles{root + "/lib/libnvJitLink.so.13", {}},
          .nvvm = LibraryFiles{root + "/nvvm/lib64/libnvvm.so.4", {}},
          .libdevice = root + "/nvvm/libdevice/libdevice.10.bc",
          .trusted_directories = {root + "/include"}};
}

std::unique_ptr<FakeToolkit> Copied() {
  auto toolkit = FakeToolkit::Copy(13);
  REQUIRE(toolkit != nullptr);
  return toolkit;
}

/// A zygote that has loaded the fake CUDA 13.
struct Scene {
  std::unique_ptr<FakeToolkit> toolkit = Copied();
  ToolchainPtr toolchain = [this] {
    auto described = std::make_shared<Toolchain>();
    described->headers = {HeaderDirectory{toolkit->root() + "/include", {}}};
    return described;
  }();
  RunningZygote zygote;

  Scene() { REQUIRE(std::holds_alternative<ZygoteReady>(zygote.Greet(HelloFor(*toolkit)))); }

  [[nodiscard]] CompileJob Nvrtc(const std::string& source) const {
    return NvrtcJobOf(toolchain, source, {"-arch=sm_90"});
  }
};

std::string PartOf(const WorkerReply& reply, cccl_cache::ArtifactKind kind) {
  for (const WorkerReply::Part& part : reply.parts) {
    if (part.kind == kind) return part.bytes;
  }
  return {};
}

}  // namespace

TEST_CASE("a zygote reports its workers' sandbox, and ends with its daemon") {
  const auto toolkit = Copied();
  RunningZygote zygote;
  const ControlAnswer answer = zygote.Greet(HelloFor(*toolkit));
  REQUIRE(std::holds_alternative<ZygoteReady>(answer));
  CHECK(std::get<ZygoteReady>(answer).sandbox != SandboxKind::kNone);
  CHECK(std::get<ZygoteReady>(answer).description.find("seccomp") != std::string::npos);
  CHECK(toolkit->loads() == 1);
  CHECK(zygote.End() == 0);
}

TEST_CASE("a zygote that can't load its toolchain reports the reason and ends") {
  const auto toolkit = Copied();
  ZygoteHello hello = HelloFor(*toolkit);
  hello.nvrtc->path = toolkit->root() + "/lib/nothing.so";
  RunningZygote zygote;
  const ControlAnswer answer = zygote.Greet(hello);
  REQUIRE(std::holds_alternative<LoadFailed>(answer));
  CHECK(std::get<LoadFailed>(answer).message.find("nothing.so") != std::string::npos);
  CHECK(zygote.End() == RunningZygote::kNotStarted);
}

TEST_CASE("a zygote ends without a hello, or after an impossible request") {
  SECTION("a request before the greeting") {
    RunningZygote zygote;
    CHECK(std::holds_alternative<LoadFailed>(zygote.Greet(SpawnRequest{})));
    CHECK(zygote.End() == RunningZygote::kNotStarted);
  }
  SECTION("a request without its descriptors") {
    Scene scene;
    scene.zygote.Send({.job_id = 1, .memory_bytes = 1u << 20}, {});
    CHECK(scene.zygote.End() == RunningZygote::kBroken);
  }
}

TEST_CASE("workers run their jobs in the sandbox, forked on demand or in advance") {
  Scene scene;
  for (const std::string value : {"1", "2", "3"}) {  // the first one finds no spare worker
    const WorkerReply reply = scene.zygote.Do(scene.Nvrtc(kKernel + ("// " + value))).Decoded();
    CHECK(reply.succeeded);
    CHECK(PartOf(reply, cccl_cache::ArtifactKind::kPtx).starts_with("// fake PTX"));
    CHECK(reply.peak_resident_bytes > 0);
  }
  CHECK(scene.toolkit->loads() == 1);
  CHECK(scene.zygote.End() == 0);
}

TEST_CASE("the next job's worker is forked after a job has ended, not during it") {
  Scene scene;
  const CompileJob job = scene.Nvrtc(std::string("#include \"a.h\"\n") + kKernel);
  std::vector<pid_t> meanwhile;
  AnsweringDaemon first({}, [&] { meanwhile = scene.zygote.Workers(); });
  (void)scene.zygote.Do(job, first.socket());
  REQUIRE(meanwhile.size() == 1);
  std::vector<pid_t> spare;
  REQUIRE(WaitUntil([&] { return !(spare = scene.zygote.Workers()).empty(); }));
  CHECK(spare != meanwhile);
  AnsweringDaemon second({}, [&] { meanwhile = scene.zygote.Workers(); });
  (void)scene.zygote.Do(job, second.socket());
  CHECK(meanwhile == spare);
}

TEST_CASE("a worker hands a job to the library of its kind") {
  Scene scene;
  cccl_cache::LinkProgram link;
  link.inputs.push_back({cccl_cache::LinkInputType::kLtoIr, "input", "fake LTO-IR"});
  CHECK(scene.zygote.Do(JobOf(scene.toolchain, link, {"-arch=sm_90", "-lto"})).Decoded().succeeded);
  cccl_cache::NvvmProgram nvvm;
  nvvm.modules.push_back({"module", "; module", false});
  CHECK(scene.zygote.Do(JobOf(scene.toolchain, nvvm, {"-arch=compute_90"})).Decoded().succeeded);
  CHECK(scene.toolkit->links() == 1);
  CHECK(scene.toolkit->nvvm_compiles() >= 1);
}

TEST_CASE("a compiler gets the files of a job from the daemon, and opens none itself") {
  Scene scene;
  AnsweringDaemon daemon({{"/cccl-root-0/a.h", {FileKind::kFile, 7, "// a\n"}}});
  const std::string source = "#include \"a.h\"\n//fake: read-file /etc/passwd\n";
  const WorkerReply reply =
      scene.zygote.Do(scene.Nvrtc(source + kKernel), daemon.socket()).Decoded();
  CHECK(reply.succeeded);
  CHECK(PartOf(reply, cccl_cache::ArtifactKind::kPtx).find("read-file /etc/passwd: EACCES") !=
        std::string::npos);
  CHECK(daemon.asked() == std::vector<std::string>{"/cccl-root-0/a.h"});
}

TEST_CASE("a compile error is an answer") {
  Scene scene;
  const WorkerReply failed = scene.zygote.Do(scene.Nvrtc("//fake: fail no such type\n")).Decoded();
  CHECK_FALSE(failed.succeeded);
  CHECK(failed.log.find("no such type") != std::string::npos);
  CHECK(failed.native_name == "NVRTC_ERROR_COMPILATION");
}

TEST_CASE("a worker's end is reported, and the zygote continues") {
  Scene scene;
  const JobOutcome left = scene.zygote.Do(scene.Nvrtc("//fake: exit 7\n"));
  CHECK(WEXITSTATUS(left.wait_status) == 7);
  CHECK(left.reply.empty());
  const JobOutcome aborted = scene.zygote.Do(scene.Nvrtc("//fake: abort\n"));
  CHECK(WTERMSIG(aborted.wait_status) == SIGABRT);
  const JobOutcome refused = scene.zygote.Do(scene.Nvrtc("//fake: system-call setsid\n"));
  CHECK(WTERMSIG(refused.wait_status) == SIGSYS);
  CHECK(scene.zygote.Do(scene.Nvrtc(kKernel)).Decoded().succeeded);
  CHECK(scene.zygote.End() == 0);
}

TEST_CASE("a job that can't be read is not begun") {
  Scene scene;
  const FileDescriptor junk(memfd_create("job", MFD_CLOEXEC));
  REQUIRE(write(junk.get(), "junk", 4) == 4);
  const JobOutcome outcome = scene.zygote.Do(junk);
  CHECK(WEXITSTATUS(outcome.wait_status) == kExitNotStarted);
  CHECK(outcome.reply.empty());
}

TEST_CASE("the real NVRTC compiles in a worker, with threads and files of the daemon") {
  const ToolchainPtr toolchain = RealToolchain();
  RunningZygote zygote;
  const ZygoteHello hello{.nvrtc = LibraryFiles{toolchain->nvrtc->path, toolchain->nvrtc->preload},
                          .nvjitlink = {},
                          .nvvm = {},
                          .libdevice = {},
                          .trusted_directories = {}};
  REQUIRE(std::holds_alternative<ZygoteReady>(zygote.Greet(hello)));
  AnsweringDaemon daemon({{"/cccl-root-0/a.h", {FileKind::kFile, 7, "#define TWO 2\n"}}});
  const std::string source =
      "#include \"a.h\"\nextern \"C\" __global__ void k(int* p) { *p = TWO; }\n"
      "extern \"C\" __global__ void l(int* p) { *p = TWO; }\n";
  const CompileJob job = NvrtcJobOf(toolchain, source, {"-arch=sm_90", "-split-compile=2"});
  const WorkerReply reply = zygote.Do(job, daemon.socket()).Decoded();
  INFO(reply.log);
  CHECK(reply.succeeded);
  CHECK(PartOf(reply, cccl_cache::ArtifactKind::kPtx).find(".entry k(") != std::string::npos);
  CHECK_FALSE(PartOf(reply, cccl_cache::ArtifactKind::kCubin).empty());
  CHECK(zygote.End() == 0);
}

}  // namespace zygote_test

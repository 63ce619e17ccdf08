// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/compile_fixture.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "tests/unit/compile/job_of.h"

namespace cccl_cache::daemon {
namespace {

ToolchainPtr Describe(const std::string& root, int major) {
  auto toolchain = std::make_shared<Toolchain>();
  const std::string suffix = std::to_string(major);
  const std::string version = major == 12 ? "12.4" : "13.0";
  toolchain->id = cccl_cache::Sha256(root);
  toolchain->serial = static_cast<uint64_t>(major);
  toolchain->major = major;
  toolchain->minor = major == 12 ? 4 : 0;
  toolchain->root = root;
  toolchain->nvrtc = CompilerLibrary{.path = root + "/lib/libnvrtc.so." + suffix,
                                     .preload = {root + "/lib/libnvrtc-builtins.so." + version},
                                     .version = version,
                                     .id = {}};
  toolchain->nvjitlink = CompilerLibrary{
      .path = root + "/lib/libnvJitLink.so." + suffix, .preload = {}, .version = version, .id = {}};
  toolchain->nvvm = CompilerLibrary{
      .path = root + "/nvvm/lib64/libnvvm.so.4", .preload = {}, .version = "2.0", .id = {}};
  toolchain->libdevice = root + "/nvvm/libdevice/libdevice.10.bc";
  toolchain->headers = {HeaderDirectory{root + "/include", {}}};
  return toolchain;
}

}  // namespace

CompileFixture::CompileFixture(ZygoteOptions options, int major)
    : toolkit(fake_toolchain::FakeToolkit::Copy(major)),
      toolchain(Describe(toolkit->root(), major)),
      compiler(WORKER_PATH, options, [this](std::string_view line) {
        const std::lock_guard lock(mutex_);
        reports_.emplace_back(line);
      }) {}

CompileJob CompileFixture::NvrtcJob(const std::string& source,
                                    std::vector<std::string> options) const {
  return NvrtcJobOf(toolchain, source, std::move(options));
}

CompileJob CompileFixture::LinkJob(const std::string& input) const {
  cccl_cache::LinkProgram program;
  program.inputs.push_back({cccl_cache::LinkInputType::kLtoIr, "input", input});
  return JobOf(toolchain, std::move(program), {"-arch=sm_90", "-lto"});
}

CompileJob CompileFixture::NvvmJob(const std::string& module) const {
  cccl_cache::NvvmProgram program;
  program.modules.push_back({"module", module, false});
  program.add_libdevice = true;
  return JobOf(toolchain, std::move(program), {"-arch=compute_90"});
}

Result<CompileOutput> CompileFixture::Compile(const std::string& source, CompileLimits limits) {
  return compiler.Compile(NvrtcJob(source), limits, {});
}

CompileLimits CompileFixture::SmallLimits() {
  return {.time = std::chrono::minutes(1), .memory_bytes = 256ull << 20};
}

std::vector<std::string> CompileFixture::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

std::string PartOf(const Result<CompileOutput>& output, cccl_cache::ArtifactKind kind) {
  INFO((output.ok() ? std::string() : output.error().message));
  REQUIRE(output.ok());
  for (const ArtifactPart& part : output->artifact->parts) {
    if (part.kind == kind) return part.bytes;
  }
  return {};
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + (pid == 0 ? "self" : std::to_string(pid)) + "/task";
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::ifstream file(task.path() / "children");
    for (pid_t child; file >> child;) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> WorkersOf(pid_t zygote) {
  std::vector<pid_t> workers = ChildrenOf(zygote);
  std::erase_if(workers, [](pid_t pid) { return getsid(pid) != pid; });
  return workers;
}

bool WaitForChildren(pid_t pid, size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (ChildrenOf(pid).size() != count) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

size_t OpenDescriptors(pid_t pid) {
  const std::string process = pid == 0 ? "self" : std::to_string(pid);
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/" + process + "/fd"), {}));
}

}  // namespace cccl_cache::daemon

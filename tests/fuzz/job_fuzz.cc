// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/compile/protocol/job.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;
using cccl_cache::BuildKind;
using cccl_cache::LinkInputType;
using cccl_cache::LinkProgram;
using cccl_cache::NvrtcProgram;
using cccl_cache::NvvmProgram;

using Program = std::variant<NvrtcProgram, LinkProgram, NvvmProgram>;

/// Checks that a text for the compilers is a C string.
void CheckTerminated(std::string_view text) { assert(text.data()[text.size()] == '\0'); }

Program ProgramOf(const WorkerJob& job) {
  if (job.kind == BuildKind::kNvrtc) {
    NvrtcProgram program;
    CheckTerminated(job.source);
    program.source = job.source;
    for (const WorkerJob::Header& header : job.headers) {
      CheckTerminated(header.contents);
      program.headers.push_back({std::string(header.name), std::string(header.contents)});
    }
    program.name_expressions.assign(job.name_expressions.begin(), job.name_expressions.end());
    return program;
  }
  if (job.kind == BuildKind::kLink) {
    LinkProgram program;
    for (const WorkerJob::LinkInput& input : job.inputs) {
      program.inputs.push_back({input.type, std::string(input.name), std::string(input.contents)});
    }
    return program;
  }
  NvvmProgram program;
  for (const WorkerJob::Module& module : job.modules) {
    program.modules.push_back(
        {std::string(module.name), std::string(module.contents), module.lazy});
  }
  program.add_libdevice = job.add_libdevice;
  return program;
}

CompileJob JobOf(const WorkerJob& read) {
  CompileJob job;
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = ProgramOf(read);
  job.request = std::move(request);
  for (const std::string_view option : read.options) {
    CheckTerminated(option);
    job.options.emplace_back(option);
  }
  for (const WorkerJob::MountPoint& mount : read.mounts) {
    job.mounts.push_back({std::string(mount.visible), std::string(mount.target), true});
  }
  job.program_name = read.program_name;
  job.visible_working_directory = read.visible_working_directory;
  return job;
}

std::string SeedJob(Program program) {
  CompileJob job;
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = std::move(program);
  job.request = std::move(request);
  job.options = {"-arch=sm_90", "-I/cccl-root-1"};
  job.program_name = "/cccl-root-0/program.cu";
  job.mounts = {{"/cccl-root-1", "/home/include", false}, {"/cuda", "/cuda", true}};
  job.visible_working_directory = "/cccl-work";
  return EncodeJob(job).Joined();
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  NvrtcProgram nvrtc;
  nvrtc.source = "#include <a.h>\n__global__ void f() {}";
  nvrtc.headers = {{"a.h", "int a;"}, {"b.h", std::string(5000, ' ')}};
  nvrtc.name_expressions = {"f"};
  const LinkProgram link{.inputs = {{LinkInputType::kLtoIr, "a", "\x7fltoir"}, {}}};
  const NvvmProgram nvvm{.modules = {{"m", "define void @f() {}", true}}, .add_libdevice = true};
  const WorkerReply reply{.succeeded = true,
                          .native_name = "NVRTC_SUCCESS",
                          .log = "a warning",
                          .parts = {{cccl_cache::ArtifactKind::kCubin,
                                     "\x7f"
                                     "ELF"}},
                          .lowered_names = {{"f", "_Z1fv"}},
                          .peak_resident_bytes = 1 << 20};
  return {SeedJob(nvrtc), SeedJob(link), SeedJob(nvvm), EncodeReply(reply).Joined(),
          EncodeReply({.native_code = 6, .native_name = "NVRTC_ERROR_COMPILATION"}).Joined()};
}

/// Each job and each reply has one encoding: a decoded one encodes to the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto reply = DecodeReply(std::string(bytes)))
    assert(EncodeReply(*reply).Joined() == bytes);
  if (const auto read = DecodeJob(bytes)) {
    const CompileJob job = JobOf(*read);
    assert(EncodeJob(job).Joined() == bytes);
  }
  return 0;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/compilers/shared_library.h"

namespace cccl_cache::daemon {
namespace {

constexpr const char* kWarmUpSource =
    "extern \"C\" __global__ void warm_up(int* out) { *out = 1; }\n";

/// Returns the architectures that this NVRTC supports: 90 for sm_90. The result is empty if it
/// can't list them.
std::vector<int> SupportedArchitectures(const NvrtcLibrary& nvrtc) {
  int count = 0;
  if (nvrtc.supported_arch_count == nullptr || nvrtc.supported_archs == nullptr ||
      nvrtc.supported_arch_count(&count) != NvrtcLibrary::kSuccess || count <= 0) {
    return {};
  }
  std::vector<int> archs(static_cast<size_t>(count));
  if (nvrtc.supported_archs(archs.data()) != NvrtcLibrary::kSuccess) return {};
  return archs;
}

/// Returns the options of the warm-up: an architecture, so that the warm-up makes a cubin. The
/// result is empty if no architecture is known.
std::vector<std::string> WarmUpOptions(const NvrtcLibrary& nvrtc) {
  const std::vector<int> archs = SupportedArchitectures(nvrtc);
  if (archs.empty()) return {};
  return {"--gpu-architecture=sm_" + std::to_string(archs.front())};
}

std::vector<const char*> Pointers(const std::vector<std::string_view>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string_view text : texts) pointers.push_back(text.data());
  return pointers;
}

int Create(const WorkerJob& job, const NvrtcLibrary& nvrtc, NvrtcLibrary::Program& program) {
  std::vector<const char*> contents;
  std::vector<const char*> names;
  for (const WorkerJob::Header& header : job.headers) {
    contents.push_back(header.contents.data());
    names.push_back(header.name.data());
  }
  const char* name = job.program_name.empty() ? nullptr : job.program_name.data();
  const int result =
      nvrtc.create_program(&program, job.source.data(), name, static_cast<int>(names.size()),
                           contents.data(), names.data());
  if (result != NvrtcLibrary::kSuccess) return result;
  for (const std::string_view expression : job.name_expressions) {
    const int added = nvrtc.add_name_expression(program, expression.data());
    if (added != NvrtcLibrary::kSuccess) return added;
  }
  return result;
}

void AddPart(WorkerReply& reply, ArtifactKind kind, std::string bytes) {
  if (!bytes.empty()) reply.parts.push_back({kind, std::move(bytes)});
}

void TakeOutputs(const NvrtcLibrary& nvrtc, NvrtcLibrary::Program program, WorkerReply& reply) {
  AddPart(reply, ArtifactKind::kPtx, CompilerText(nvrtc.ptx_size, nvrtc.ptx, program));
  AddPart(reply, ArtifactKind::kCubin, CompilerBytes(nvrtc.cubin_size, nvrtc.cubin, program));
  AddPart(reply, ArtifactKind::kLtoIr, CompilerBytes(nvrtc.ltoir_size, nvrtc.ltoir, program));
  AddPart(reply, ArtifactKind::kOptixIr, CompilerBytes(nvrtc.optixir_size, nvrtc.optixir, program));
}

/// Suppresses NVRTC's messages about the precompiled header. The client did not ask for such a
/// header, so the client's log must not mention it.
constexpr const char* kNoPchMessages = "--pch-messages=false";
/// Keeps the order of a program's template instances as it is without a precompiled header. The job
/// that writes the header and the jobs that read it all need this option. Otherwise NVRTC rejects
/// the header.
constexpr const char* kNoInstances = "--instantiate-templates-in-pch=false";

int Compile(const WorkerJob& job, const NvrtcLibrary& nvrtc, NvrtcLibrary::Program program,
            PchUse pch) {
  std::vector<const char*> options = Pointers(job.options);
  const std::string name(kPchName);
  const std::string use = "--use-pch=" + name;
  const std::string create = "--create-pch=" + name;
  if (pch != PchUse::kNone) {
    // These options come first: if the client's last option lacks its value, NVRTC would take the
    // option after it as the value.
    options.insert(options.begin(), {pch == PchUse::kRead ? use.c_str() : create.c_str(),
                                     kNoPchMessages, kNoInstances});
  }
  const int result =
      nvrtc.compile_program(program, static_cast<int>(options.size()), options.data());
  if (result != NvrtcLibrary::kSuccess || pch != PchUse::kWrite) return result;
  return nvrtc.pch_create_status != nullptr ? nvrtc.pch_create_status(program) : result;
}

}  // namespace

Result<NvrtcLibrary> NvrtcLibrary::Open(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open(files);
  if (!library) return library.error();
  NvrtcLibrary nvrtc{};
  library->Need("nvrtcGetErrorString", nvrtc.error_string);
  library->Need("nvrtcCreateProgram", nvrtc.create_program);
  library->Need("nvrtcAddNameExpression", nvrtc.add_name_expression);
  library->Need("nvrtcCompileProgram", nvrtc.compile_program);
  library->Need("nvrtcGetProgramLogSize", nvrtc.log_size);
  library->Need("nvrtcGetProgramLog", nvrtc.log);
  library->Need("nvrtcGetLoweredName", nvrtc.lowered_name);
  library->Need("nvrtcGetPTXSize", nvrtc.ptx_size);
  library->Need("nvrtcGetPTX", nvrtc.ptx);
  library->Find("nvrtcGetCUBINSize", nvrtc.cubin_size);
  library->Find("nvrtcGetCUBIN", nvrtc.cubin);
  library->Find("nvrtcGetLTOIRSize", nvrtc.ltoir_size);
  library->Find("nvrtcGetLTOIR", nvrtc.ltoir);
  library->Find("nvrtcGetOptiXIRSize", nvrtc.optixir_size);
  library->Find("nvrtcGetOptiXIR", nvrtc.optixir);
  library->Find("nvrtcGetNumSupportedArchs", nvrtc.supported_arch_count);
  library->Find("nvrtcGetSupportedArchs", nvrtc.supported_archs);
  library->Find("nvrtcSetPCHHeapSize", nvrtc.set_pch_heap_size);
  library->Find("nvrtcGetPCHCreateStatus", nvrtc.pch_create_status);
  library->Find("nvrtcInstallBundledHeaders", nvrtc.install_bundled_headers);
  if (Status complete = library->Complete(); !complete) return complete.error();
  return nvrtc;
}

Status NvrtcLibrary::WarmUp() const {
  const std::vector<std::string> texts = WarmUpOptions(*this);
  std::vector<const char*> options;
  for (const std::string& text : texts) options.push_back(text.c_str());
  Program program = nullptr;
  int result = create_program(&program, kWarmUpSource, nullptr, 0, nullptr, nullptr);
  if (result == kSuccess) {
    result = compile_program(program, static_cast<int>(options.size()), options.data());
  }
  if (result == kSuccess) return Ok{};
  return Error{ErrorCode::kUnavailable, std::string("NVRTC can't compile a trivial kernel (") +
                                            error_string(result) +
                                            "): " + CompilerText(log_size, log, program)};
}

WorkerReply RunNvrtcJob(const WorkerJob& job, const NvrtcLibrary& nvrtc, PchUse pch) {
  WorkerReply reply;
  const std::vector<int> archs = SupportedArchitectures(nvrtc);
  reply.architectures.assign(archs.begin(), archs.end());
  NvrtcLibrary::Program program = nullptr;
  int result = Create(job, nvrtc, program);
  if (result == NvrtcLibrary::kSuccess) {
    result = Compile(job, nvrtc, program, pch);
    reply.log = CompilerText(nvrtc.log_size, nvrtc.log, program);
  }
  for (const std::string_view expression : job.name_expressions) {
    if (result != NvrtcLibrary::kSuccess) break;
    const char* lowered = nullptr;
    result = nvrtc.lowered_name(program, expression.data(), &lowered);
    if (result == NvrtcLibrary::kSuccess && lowered != nullptr) {
      reply.lowered_names.emplace_back(expression, lowered);
    }
  }
  reply.native_code = result;
  reply.succeeded = result == NvrtcLibrary::kSuccess;
  if (reply.succeeded) {
    TakeOutputs(nvrtc, program, reply);
  } else {
    reply.native_name = nvrtc.error_string(result);
  }
  return reply;
}

}  // namespace cccl_cache::daemon

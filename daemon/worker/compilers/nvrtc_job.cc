// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/compilers/compiler_text.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::ArtifactKind;

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

/// Messages about precompiled headers would be the daemon's own, in the client's log.
constexpr const char* kNoPchMessages = "--pch-messages=false";
/// What a program makes of its headers comes in the order in which it would without. An option of
/// both sides, or the compiler takes them for different.
constexpr const char* kNoInstances = "--instantiate-templates-in-pch=false";

int Compile(const WorkerJob& job, const NvrtcLibrary& nvrtc, NvrtcLibrary::Program program,
            PchUse pch) {
  std::vector<const char*> options = Pointers(job.options);
  const std::string name(kPchName);
  const std::string use = "--use-pch=" + name;
  const std::string create = "--create-pch=" + name;
  if (pch != PchUse::kNone) {
    options.push_back(pch == PchUse::kRead ? use.c_str() : create.c_str());
    options.push_back(kNoPchMessages);
    options.push_back(kNoInstances);
  }
  const int result =
      nvrtc.compile_program(program, static_cast<int>(options.size()), options.data());
  if (result != NvrtcLibrary::kSuccess || pch != PchUse::kWrite) return result;
  return nvrtc.pch_create_status != nullptr ? nvrtc.pch_create_status(program) : result;
}

}  // namespace

WorkerReply RunNvrtcJob(const WorkerJob& job, const NvrtcLibrary& nvrtc, PchUse pch) {
  WorkerReply reply;
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

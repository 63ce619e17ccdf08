// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/compilers/compiler_text.h"
#include "daemon/worker/compilers/link_input_type.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::LinkInputType;

/// Our numbers are nvJitLinkInputType's; what we can't tell, the library may.
constexpr int kAnyType = 10;

int TypeOf(const WorkerJob::LinkInput& input) {
  const LinkInputType type =
      input.type == LinkInputType::kUnspecified ? LinkInputTypeOf(input.contents) : input.type;
  return type == LinkInputType::kUnspecified ? kAnyType : static_cast<int>(type);
}

int Link(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink,
         NvJitLinkLibrary::Handle& handle) {
  std::vector<const char*> options;
  options.reserve(job.options.size() +
                  1);  // no options: still not a null pointer, which is another error
  for (const std::string_view option : job.options) options.push_back(option.data());
  int result = nvjitlink.create(&handle, static_cast<uint32_t>(options.size()), options.data());
  for (const WorkerJob::LinkInput& input : job.inputs) {
    if (result != NvJitLinkLibrary::kSuccess) return result;
    result = nvjitlink.add_data(handle, TypeOf(input), input.contents.data(), input.contents.size(),
                                input.name.data());
  }
  return result == NvJitLinkLibrary::kSuccess ? nvjitlink.complete(handle) : result;
}

std::string LogOf(const NvJitLinkLibrary& nvjitlink, NvJitLinkLibrary::Handle handle) {
  if (handle == nullptr) return {};
  std::string log = CompilerText(nvjitlink.error_log_size, nvjitlink.error_log, handle);
  const std::string info = CompilerText(nvjitlink.info_log_size, nvjitlink.info_log, handle);
  if (!log.empty() && !log.ends_with('\n') && !info.empty()) log.push_back('\n');
  return log + info;
}

}  // namespace

WorkerReply RunLinkJob(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink) {
  WorkerReply reply;
  NvJitLinkLibrary::Handle handle = nullptr;
  reply.native_code = Link(job, nvjitlink, handle);
  reply.succeeded = reply.native_code == NvJitLinkLibrary::kSuccess;
  reply.log = LogOf(nvjitlink, handle);
  if (!reply.succeeded) {
    reply.native_name = NvJitLinkLibrary::ResultName(reply.native_code);
    return reply;
  }
  // One of the two: `-ptx` makes PTX in place of a cubin.
  std::string cubin = CompilerBytes(nvjitlink.cubin_size, nvjitlink.cubin, handle);
  if (!cubin.empty()) reply.parts.push_back({ArtifactKind::kCubin, std::move(cubin)});
  std::string ptx = CompilerText(nvjitlink.ptx_size, nvjitlink.ptx, handle);
  if (!ptx.empty()) reply.parts.push_back({ArtifactKind::kPtx, std::move(ptx)});
  return reply;
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/raw_nvrtc.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "base/files/file_descriptor.h"
#include "daemon/worker/compilers/compiler_jobs.h"

namespace cccl_cache::daemon {
namespace {

/// Runs in the child, which exits afterwards, so NVRTC's leftovers do not matter.
[[noreturn]] void CompileAndExit(const CompileJob& job, int reply) {
  const std::string bytes = EncodeJob(job).Joined();
  const Result<WorkerJob> decoded = DecodeJob(bytes);
  const Result<NvrtcLibrary> nvrtc =
      NvrtcLibrary::Open({job.toolchain->nvrtc->path, job.toolchain->nvrtc->preload});
  if (!decoded || !nvrtc || chdir(job.visible_working_directory.c_str()) != 0) _exit(1);
  _exit(EncodeReply(RunNvrtcJob(*decoded, *nvrtc)).WriteTo(reply) == 0 ? 0 : 1);
}

}  // namespace

Result<WorkerReply> CompileRaw(const CompileJob& job) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const FileDescriptor from_child(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) CompileAndExit(job, to_parent.get());
  to_parent.Close();
  std::string reply;
  char chunk[4096];
  for (ssize_t size; (size = read(from_child.get(), chunk, sizeof(chunk))) > 0;) {
    reply.append(chunk, static_cast<size_t>(size));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return DecodeReply(reply);
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/worker_compiler.h"
#include "tests/support/resource_bound.h"
#include "tests/unit/compile/job_of.h"

namespace cccl_cache::daemon::sealed_job_test {
namespace {

using Catch::Matchers::Contains;

CompileJob Job() {
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->major = 13;
  toolchain->nvrtc = CompilerLibrary{"/opt/cuda/lib/libnvrtc.so", {}, "13.0", {}};
  return NvrtcJobOf(std::move(toolchain), std::string(100'000, 'x'), {"-arch=sm_90"});
}

TEST_CASE("a sealed job contains the encoded job and can't be changed") {
  const CompileJob job = Job();
  const auto sealed = SealJob(job);
  REQUIRE(sealed.ok());
  const std::string expected = EncodeJob(job).Joined();
  std::string found(expected.size() + 1, '\0');
  REQUIRE(pread(sealed->get(), found.data(), found.size(), 0) ==
          static_cast<ssize_t>(expected.size()));
  found.pop_back();
  CHECK((found == expected));
  CHECK(pwrite(sealed->get(), "x", 1, 0) == -1);
  CHECK(errno == EPERM);
  CHECK(ftruncate(sealed->get(), 1) == -1);
  CHECK(fcntl(sealed->get(), F_ADD_SEALS, F_SEAL_WRITE) == -1);
  CHECK((fcntl(sealed->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("sealing a job without a free descriptor is an error") {
  const CompileJob job = Job();
  const ResourceBound bound(RLIMIT_NOFILE, 0);
  const auto sealed = SealJob(job);
  REQUIRE_FALSE(sealed.ok());
  CHECK(sealed.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(sealed.error().message, Contains("handing over a job: Too many open files"));
}

TEST_CASE("sealing a job over the file size limit is an error") {
  const CompileJob job = Job();
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    const ResourceBound bound(RLIMIT_FSIZE, 1000);
    const auto sealed = SealJob(job);
    REQUIRE_FALSE(sealed.ok());
    CHECK(sealed.error().code == ErrorCode::kUnavailable);
    CHECK_THAT(sealed.error().message, Contains("File too large"));
  }
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace cccl_cache::daemon::sealed_job_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/compiler_jobs.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::compiler_jobs_test {
namespace {

const std::string kToolkit = std::string(FAKE_TOOLCHAINS) + "/fake_cuda13";
const std::string kNvrtc = kToolkit + "/lib/libnvrtc.so.13";

TEST_CASE("libraries that a toolchain has are loaded, those that it lacks are empty") {
  ZygoteHello hello;
  hello.nvvm = LibraryFiles{.path = kToolkit + "/nvvm/lib64/libnvvm.so.4"};
  hello.libdevice = kToolkit + "/nvvm/libdevice/libdevice.10.bc";
  const auto libraries = CompilerLibraries::Load(hello);
  REQUIRE(libraries.ok());
  CHECK(libraries->nvvm.has_value());
  CHECK_FALSE(libraries->nvrtc.has_value());
  CHECK_FALSE(libraries->nvjitlink.has_value());
  CHECK(libraries->libdevice == "fake libdevice\n");
}

TEST_CASE("the error of a missing or wrong library names it") {
  ZygoteHello hello;
  hello.nvrtc = LibraryFiles{.path = kToolkit + "/lib/absent.so"};
  const auto gone = CompilerLibraries::Load(hello);
  REQUIRE_FALSE(gone.ok());
  CHECK(gone.error().message.starts_with("loading " + kToolkit + "/lib/absent.so: "));
  hello.nvrtc = LibraryFiles{.path = kToolkit + "/nvvm/lib64/libnvvm.so.4"};
  const auto other = CompilerLibraries::Load(hello);
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().message.find("libnvvm.so.4 has no function nvrtc") != std::string::npos);
}

TEST_CASE("the error of a missing or invalid libdevice names it") {
  ZygoteHello hello;
  hello.libdevice = kToolkit + "/absent.bc";
  const auto gone = CompilerLibraries::Load(hello);
  REQUIRE_FALSE(gone.ok());
  CHECK(gone.error().message == "reading " + kToolkit + "/absent.bc: No such file or directory");
  const TemporaryDirectory directory;
  hello.libdevice = directory.path();
  const auto none = CompilerLibraries::Load(hello);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message.starts_with("reading " + directory.path() + ": "));
}

TEST_CASE("a job for a missing library gets an answer, not a crash") {
  const CompilerLibraries none;
  WorkerJob job;
  for (const auto kind : {cccl_cache::BuildKind::kNvrtc, cccl_cache::BuildKind::kLink,
                          cccl_cache::BuildKind::kNvvm}) {
    job.kind = kind;
    const WorkerReply reply = RunCompilerJob(job, none, PchUse::kNone);
    CHECK_FALSE(reply.succeeded);
    CHECK_FALSE(reply.native_name.empty());
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::compiler_jobs_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/driver.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/unit/client/driver_scene.h"

namespace driver_test {

using cccl_cache::BuildResult;
using cccl_cache::Driver;
using cccl_cache::LoadedKernels;

namespace {

/// Returns a build of f<int>, whose lowered name is _Z1fIiEvv, and of the extern "C" kernel
/// g_kernel.
BuildResult TwoKernels() {
  v1::BuildReply reply = HitWithCubin("image with _Z1fIiEvv and g_kernel");
  auto* name = reply.add_lowered_names();
  name->set_expression("f<int>");
  name->set_lowered("_Z1fIiEvv");
  return Built(reply);
}

bool Said(const FakeDriver& fake, const std::string& call) {
  return std::find(fake.calls.begin(), fake.calls.end(), call) != fake.calls.end();
}

}  // namespace

TEST_CASE("the architecture to compile for is that of the context's device") {
  FakeDriver& fake = Fake();
  CHECK(*cccl_cache::NativeArch() == "sm_90");
  fake.context = false;
  CHECK(*cccl_cache::NativeArch() == "sm_80");
  fake.major = 12;
  fake.minor = 0;
  CHECK(*cccl_cache::NativeArch() == "sm_120");
  CHECK(*Driver::Open()->Version() == 13000);
}

TEST_CASE("the error without a device has the driver's error name") {
  Fake().devices = 0;
  const auto arch = cccl_cache::NativeArch();
  REQUIRE_FALSE(arch.ok());
  CHECK(arch.error().status == CCCL_CACHE_UNAVAILABLE);
  CHECK(arch.error().message.find("CUDA_ERROR_NO_DEVICE") != std::string::npos);
}

TEST_CASE("kernels are found by their name expressions and by their C names") {
  FakeDriver& fake = Fake();
  const BuildResult result = TwoKernels();
  {
    const auto kernels = LoadedKernels::Load(*Driver::Open(), result);
    REQUIRE(kernels.ok());
    CHECK(fake.image == "image with _Z1fIiEvv and g_kernel");
    CHECK(Said(fake, "library"));
    REQUIRE(kernels->Function("f<int>").ok());
    CHECK(Said(fake, "find _Z1fIiEvv"));
    CHECK(*kernels->Function("g_kernel") != nullptr);
    CHECK(Said(fake, "find g_kernel"));
    CHECK_FALSE(Said(fake, "unload library"));
  }
  CHECK(std::count(fake.calls.begin(), fake.calls.end(), "unload library") == 1);
}

TEST_CASE("a driver that knows no libraries loads modules") {
  // A process has one driver, so a driver from before CUDA 12 needs another process.
  if (std::getenv("CCCL_CACHE_FAKE_DRIVER") == nullptr) {
    const std::string itself = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command = "CCCL_CACHE_FAKE_DRIVER='" CCCL_CACHE_FAKE_DRIVER_11 "' '" +
                                itself + "' 'a driver that knows no libraries loads modules' >&2";
    CHECK(std::system(command.c_str()) == 0);
    return;
  }
  FakeDriver& fake = Fake();
  {
    const auto kernels = LoadedKernels::Load(*Driver::Open(), TwoKernels());
    REQUIRE(kernels.ok());
    CHECK(Said(fake, "module"));
    CHECK(kernels->Function("f<int>").ok());
    CHECK(Said(fake, "find _Z1fIiEvv"));
  }
  CHECK(Said(fake, "unload module"));
  const auto missing = Driver::Open()->Call("cuLibraryUnload", nullptr);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("too old: it has no cuLibraryUnload") != std::string::npos);
}

TEST_CASE("the error about a missing kernel names the kernel and a remedy") {
  Fake();
  const auto kernels = LoadedKernels::Load(*Driver::Open(), TwoKernels());
  REQUIRE(kernels.ok());
  const auto missing = kernels->Function("f<long>");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("no kernel f<long>") == 0);
  CHECK(missing.error().message.find("CUDA_ERROR_NOT_FOUND") != std::string::npos);
  CHECK(missing.error().message.find("name_expressions") != std::string::npos);
}

TEST_CASE("without a current context nothing is loaded, with the driver's error name") {
  Fake().context = false;
  const auto kernels = LoadedKernels::Load(*Driver::Open(), TwoKernels());
  REQUIRE_FALSE(kernels.ok());
  CHECK(kernels.error().message.find("CUDA_ERROR_INVALID_CONTEXT") != std::string::npos);
}

TEST_CASE("PTX is loaded if there is no cubin, LTO-IR never") {
  FakeDriver& fake = Fake();
  v1::BuildReply reply = HitWithCubin("image of ptx");
  reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_PTX);
  REQUIRE(LoadedKernels::Load(*Driver::Open(), Built(reply)).ok());
  CHECK(fake.image == "image of ptx");
  reply.mutable_artifacts(0)->set_kind(v1::ARTIFACT_KIND_LTOIR);
  const auto nothing = LoadedKernels::Load(*Driver::Open(), Built(reply));
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.error().status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("kernels that were moved are unloaded once") {
  FakeDriver& fake = Fake();
  {
    auto one = *LoadedKernels::Load(*Driver::Open(), TwoKernels());
    LoadedKernels other = std::move(one);
    one = *LoadedKernels::Load(*Driver::Open(), TwoKernels());
    CHECK(other.Function("g_kernel").ok());
    CHECK(one.Function("g_kernel").ok());
  }
  CHECK(std::count(fake.calls.begin(), fake.calls.end(), "unload library") == 2);
}

}  // namespace driver_test

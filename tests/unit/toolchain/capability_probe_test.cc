// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/capability_probe.h"

#include <catch2/catch.hpp>

#include "tests/unit/toolchain/toolchain_fixture.h"

namespace capability_probe_test {

using namespace cccl_cache::daemon;

namespace {

ToolchainPtr WithNvrtc(char id) {
  Toolchain toolchain;
  toolchain.nvrtc = CompilerLibrary{.path = "/cuda/libnvrtc.so.13"};
  toolchain.nvrtc->id.bytes.fill(static_cast<uint8_t>(id));
  return std::make_shared<const Toolchain>(toolchain);
}

constexpr std::chrono::hours kTryAgain{1};

}  // namespace

TEST_CASE("options that an NVRTC rejects are not among its capabilities") {
  FakeMetaStore meta;
  FakeCompiler compiler;
  compiler.rejected_options = {"-frandom-seed=cccl", "--pch-messages=false"};
  const auto found = CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {});
  REQUIRE(found.ok());
  CHECK_FALSE(found->random_seed);
  CHECK(found->no_cache);
  CHECK_FALSE(found->pch);
  CHECK(found->architectures == std::vector<uint32_t>{75, 90});
}

TEST_CASE("each NVRTC is probed once") {
  FakeMetaStore meta;
  FakeCompiler compiler;
  REQUIRE(CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {}).ok());
  const int compiles = compiler.compiles;
  const auto again = CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {});
  REQUIRE(again.ok());
  CHECK(again->random_seed);
  CHECK(again->architectures == std::vector<uint32_t>{75, 90});
  CHECK(compiler.compiles == compiles);
  REQUIRE(CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(2), {}).ok());
  CHECK(compiler.compiles == 2 * compiles);
}

TEST_CASE("the error of a probe that could not run has the reason and is not stored") {
  FakeMetaStore meta;
  FakeCompiler compiler;
  compiler.error = Error{ErrorCode::kWorkerCrashed, "the worker died of signal 11"};
  const auto failed = CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {});
  REQUIRE_FALSE(failed.ok());
  CHECK_THAT(failed.error().message, Catch::Contains("signal 11"));
  CHECK(meta.writes() == 0);
  compiler.error.reset();
  CHECK(CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {}).ok());
}

TEST_CASE("a probe that took too long is an error, and is tried again later") {
  FakeMetaStore meta;
  FakeCompiler compiler;
  CapabilityProbe later(meta, compiler, kTryAgain);
  CapabilityProbe at_once(meta, compiler, std::chrono::milliseconds(0));
  for (CapabilityProbe* probe : {&later, &at_once}) {
    compiler.late_compiles = 1;
    const auto failed = probe->Probe(WithNvrtc(1), {});
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().code == ErrorCode::kTimedOut);
    CHECK_THAT(failed.error().message,
               Catch::Contains("30 s") && Catch::Contains("tries it again"));
  }
  const int compiles = compiler.compiles;
  CHECK(later.Probe(WithNvrtc(1), {}).error().code == ErrorCode::kTimedOut);
  CHECK(compiler.compiles == compiles);
  CHECK(later.Probe(WithNvrtc(2), {}).ok());
  CHECK(at_once.Probe(WithNvrtc(1), {}).ok());
}

TEST_CASE("an NVRTC that can't compile an empty program is rejected") {
  FakeMetaStore meta;
  class Refusing final : public Compiler {
    Result<CompileOutput> Compile(const CompileJob&, const CompileLimits&,
                                  std::stop_token) override {
      return CompileOutput{.native_code = 6};
    }
  } compiler;
  const auto failed = CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {});
  REQUIRE_FALSE(failed.ok());
  CHECK_THAT(failed.error().message, Catch::Contains("empty program"));
}

TEST_CASE("a malformed record of a probe is ignored") {
  FakeMetaStore meta;
  FakeCompiler compiler;
  const ToolchainPtr toolchain = WithNvrtc(1);
  for (const char* value : {"", "11", "1111", "1x1"}) {
    meta.PutMeta("toolchain/probe/1/" + toolchain->nvrtc->id.Hex(), value);
    compiler.compiles = 0;
    CHECK(CapabilityProbe(meta, compiler, kTryAgain).Probe(toolchain, {}).ok());
    CHECK(compiler.compiles > 0);
  }
}

TEST_CASE("an NVRTC that an earlier version probed is probed again for its architectures") {
  FakeMetaStore meta;
  FakeCompiler compiler;
  const ToolchainPtr toolchain = WithNvrtc(1);
  REQUIRE(CapabilityProbe(meta, compiler, kTryAgain).Probe(toolchain, {}).ok());
  const std::string record = "toolchain/architectures/1/" + toolchain->nvrtc->id.Hex();
  for (const char* value : {"75", "75  90 ", "sm_75 ", "75,90 ", "99999999999 "}) {
    meta.PutMeta(record, value);
    const auto found = CapabilityProbe(meta, compiler, kTryAgain).Probe(toolchain, {});
    REQUIRE(found.ok());
    CHECK(found->architectures == std::vector<uint32_t>{75, 90});
  }
}

TEST_CASE("an NVRTC that can't list its architectures is also probed once") {
  FakeMetaStore meta;
  class Silent final : public Compiler {
    Result<CompileOutput> Compile(const CompileJob&, const CompileLimits&,
                                  std::stop_token) override {
      ++compiles;
      return CompileOutput{.succeeded = true};
    }

   public:
    int compiles = 0;
  } compiler;
  REQUIRE(CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {}).ok());
  const int compiles = compiler.compiles;
  CHECK(CapabilityProbe(meta, compiler, kTryAgain).Probe(WithNvrtc(1), {})->architectures.empty());
  CHECK(compiler.compiles == compiles);
}

}  // namespace capability_probe_test

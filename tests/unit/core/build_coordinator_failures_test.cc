// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/coordinator/coordinator.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_failures_test {
namespace {

using testing::CoordinatorBench;
using testing::Fail;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::Succeed;

TEST_CASE("a failed compile is answered, remembered and not tried again") {
  CoordinatorBench bench([](const CompileJob& job, int) -> Result<CompileOutput> {
    return Fail(job.program_name + "(1): error: no");
  });
  const BuildAnswer first = bench.BuildOne("a");
  const BuildAnswer second = bench.BuildOne("a");
  CHECK(first.outcome == Outcome::kFailed);
  CHECK_FALSE(first.remembered);
  CHECK(first.log == "kernel.cu(1): error: no");
  CHECK(first.native_code == 6);
  CHECK(second.outcome == Outcome::kFailed);
  CHECK(second.remembered);
  CHECK(second.log == first.log);
  CHECK(bench.compiler.started() == 1);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("a crashed compile is retried once; a second crash quarantines the input for its uid") {
  const auto crash = [](const CompileJob&, int call) -> Result<CompileOutput> {
    if (call != 2)
      return Error{.code = ErrorCode::kWorkerCrashed,
                   .message = "the compiler died by SIGSEGV",
                   .own_signal = true};
    return Succeed("second try");
  };
  SECTION("the worker crashes once") {
    CoordinatorBench bench(crash);
    CHECK(bench.BuildOne("a").artifact->parts[0].bytes == "second try");
    CHECK(bench.Count(Counter::kRetries) == 1);
    CHECK(bench.Count(Counter::kCompiles) == 1);
  }
  SECTION("the worker crashes twice") {
    CoordinatorBench bench([](const CompileJob&, int) -> Result<CompileOutput> {
      return Error{.code = ErrorCode::kWorkerCrashed,
                   .message = "the compiler died by SIGSEGV",
                   .own_signal = true};
    });
    CHECK(bench.Ask(MakeRequest("a")).error().code == ErrorCode::kWorkerCrashed);
    CHECK(bench.Ask(MakeRequest("a")).error().code == ErrorCode::kWorkerCrashed);
    CHECK(bench.compiler.started() == 2);
    CHECK_FALSE(bench.Ask(MakeRequest("a"), kBob).ok());
    CHECK(bench.compiler.started() == 4);
  }
}

TEST_CASE("a killed worker does not quarantine its input") {
  CoordinatorBench bench([](const CompileJob&, int call) -> Result<CompileOutput> {
    return Error{
        .code = ErrorCode::kWorkerCrashed, .message = "the compiler died", .own_signal = call == 1};
  });
  CHECK(bench.Ask(MakeRequest("a")).error().code == ErrorCode::kWorkerCrashed);
  CHECK(bench.Ask(MakeRequest("a")).error().code == ErrorCode::kWorkerCrashed);
  CHECK(bench.compiler.started() == 4);
}

TEST_CASE("timeouts and lack of memory are never remembered as failures") {
  const ErrorCode code = GENERATE(ErrorCode::kTimedOut, ErrorCode::kOutOfMemory);
  CoordinatorBench bench([code](const CompileJob&, int call) -> Result<CompileOutput> {
    if (call == 1) return Error{code, "too much"};
    return Succeed("now it fits");
  });
  CHECK(bench.Ask(MakeRequest("a")).error().code == code);
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
}

TEST_CASE("many failures of one user evict no failure of another user") {
  const std::string log(60 << 10, 'e');
  CoordinatorBench bench(
      [&](const CompileJob&, int) -> Result<CompileOutput> { return Fail(log); });
  CHECK_FALSE(bench.BuildOne("bob's", kBob).remembered);
  for (int i = 0; i < 1200; ++i) bench.BuildOne(std::to_string(i), kAlice);
  CHECK(bench.BuildOne("bob's", kBob).remembered);
  CHECK(bench.BuildOne("1199", kAlice).remembered);
  CHECK_FALSE(bench.BuildOne("0", kAlice).remembered);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_failures_test

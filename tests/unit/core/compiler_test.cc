// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/compiler.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::compiler_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_CASE("the deadline of a job is set once, at its first attempt") {
  const CompileLimits limits{.time = milliseconds(5000), .memory_bytes = 7};
  const auto before = steady_clock::now();
  const CompileLimits started = limits.Started();
  const auto after = steady_clock::now();
  REQUIRE(started.deadline);
  CHECK(*started.deadline >= before + limits.time);
  CHECK(*started.deadline <= after + limits.time);
  CHECK(started.memory_bytes == 7);
  CHECK(started.Started().deadline == started.deadline);
}

TEST_CASE("the longest possible time limit does not overflow") {
  const CompileLimits started = CompileLimits{.time = milliseconds::max()}.Started();
  CHECK(*started.deadline > steady_clock::now() + std::chrono::hours(24 * 364));
}

class PlainCompiler final : public Compiler {
 public:
  Result<CompileOutput> Compile(const CompileJob&, const CompileLimits&, std::stop_token) override {
    return testing::Succeed("output");
  }
};

TEST_CASE("Precompile returns kUnavailable for a compiler without preambles") {
  const auto kept = PlainCompiler().Precompile({}, {}, {});
  REQUIRE_FALSE(kept.ok());
  CHECK(kept.error().code == ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cccl_cache::daemon::compiler_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/c_abi/this_process.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "cccl_cache/client_c.h"
#include "client/src/c_abi/handles.h"

namespace this_process_test {

using cccl_cache::AsThisProcess;
using cccl_cache::BuildPriority;
using cccl_cache::MemoryLimit;
using cccl_cache::PriorityOf;
using cccl_cache::ToBytes;
using cccl_cache::ToView;

namespace {

/// Sets an environment variable during its lifetime.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

cccl_cache_build_options Asked() {
  cccl_cache_build_options options = {sizeof(options)};
  options.as_this_process = 1;
  return options;
}

constexpr cccl_cache_nvrtc kProgram = {sizeof(kProgram)};

}  // namespace

TEST_CASE("a build gets settings of this process only on request") {
  const Variable flags("NVRTC_APPEND_FLAGS", "-lineinfo");
  const AsThisProcess build(kProgram, cccl_cache_build_options{sizeof(cccl_cache_build_options)});
  CHECK(build.options().working_directory.size == 0);
  CHECK(build.program().environment_count == 0);
}

TEST_CASE("a build gets this process' working directory if it names none") {
  cccl_cache_build_options options = Asked();
  const AsThisProcess build(kProgram, options);
  CHECK(ToView(build.options().working_directory) == std::filesystem::current_path().string());
  options.working_directory = ToBytes("/named");
  const AsThisProcess named(kProgram, options);
  CHECK(ToView(named.options().working_directory) == "/named");
}

TEST_CASE("NVRTC gets the flags of this process' environment, unless the program has its own") {
  const Variable flags("NVRTC_APPEND_FLAGS", "-lineinfo");
  CHECK(AsThisProcess(kProgram, Asked()).program().environment_count == 0);
  const Variable on("NVRTCWIZ", "3153394");
  const AsThisProcess build(kProgram, Asked());
  REQUIRE(build.program().environment_count == 2);
  CHECK(ToView(build.program().environment[0].name) == "NVRTC_APPEND_FLAGS");
  CHECK(ToView(build.program().environment[0].value) == "-lineinfo");
  CHECK(ToView(build.program().environment[1].name) == "NVRTCWIZ");
  CHECK(ToView(build.program().environment[1].value) == "3153394");
  const cccl_cache_variable own = {ToBytes("NVRTC_APPEND_FLAGS"), ToBytes("-G")};
  cccl_cache_nvrtc program = kProgram;
  program.environment = &own;
  program.environment_count = 1;
  CHECK(AsThisProcess(program, Asked()).program().environment == &own);
}

namespace {

cccl_cache_build_options With(cccl_cache_priority priority) {
  cccl_cache_build_options options = {sizeof(options)};
  options.priority = priority;
  return options;
}

}  // namespace

TEST_CASE("a build without a priority gets the environment's, or normal") {
  const cccl_cache_build_options unnamed = With(CCCL_CACHE_PRIORITY_DEFAULT);
  CHECK(*PriorityOf(unnamed) == BuildPriority::kNormal);
  const Variable warm_up("CCCL_CACHE_PRIORITY", "warm-up");
  CHECK(*PriorityOf(unnamed) == BuildPriority::kWarmUp);
  CHECK(*PriorityOf(With(CCCL_CACHE_PRIORITY_NORMAL)) == BuildPriority::kNormal);
  CHECK(*PriorityOf(With(CCCL_CACHE_PRIORITY_INTERACTIVE)) == BuildPriority::kInteractive);
}

TEST_CASE("an unknown priority is refused; in the environment it means normal") {
  const auto unknown = PriorityOf(With(static_cast<cccl_cache_priority>(4)));
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(unknown.error().message == "4 is not a cccl_cache_priority");
  const Variable wrong("CCCL_CACHE_PRIORITY", "high");
  CHECK(*PriorityOf(With(CCCL_CACHE_PRIORITY_DEFAULT)) == BuildPriority::kNormal);
  CHECK(*PriorityOf(With(CCCL_CACHE_PRIORITY_WARM_UP)) == BuildPriority::kWarmUp);
}

namespace {

/// Sets the size of the process cache in the environment during its lifetime.
struct Says {
  explicit Says(const char* bytes) { setenv("CCCL_CACHE_PROCESS_BYTES", bytes, 1); }
  ~Says() { unsetenv("CCCL_CACHE_PROCESS_BYTES"); }
  Says(const Says&) = delete;
  Says& operator=(const Says&) = delete;
};

}  // namespace

TEST_CASE("the program's size of the process cache precedes the environment's") {
  const Says says("5");
  CHECK(*MemoryLimit(7) == 7);
  CHECK(*MemoryLimit(CCCL_CACHE_OFF) == 0);
}

TEST_CASE("a program without a size of the process cache gets the environment's, or the default") {
  CHECK(*MemoryLimit(0) == uint64_t{64} << 20);
  const Says bytes("5");
  CHECK(*MemoryLimit(0) == 5);
  const Says off("off");
  CHECK(*MemoryLimit(0) == 0);
}

TEST_CASE("an invalid number in the environment is refused and quoted") {
  for (const char* wrong : {"64M", "", "-1", "99999999999999999999", "OFF"}) {
    const Says says(wrong);
    const auto limit = MemoryLimit(0);
    REQUIRE_FALSE(limit.ok());
    CHECK(limit.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(limit.error().message == "CCCL_CACHE_PROCESS_BYTES is \"" + std::string(wrong) +
                                       "\": a number of bytes, or off, is expected");
  }
}

}  // namespace this_process_test

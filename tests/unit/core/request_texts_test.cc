// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "daemon/core/plan/build_plan.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::NvrtcProgram;
using namespace std::string_literals;

TEST_CASE("NVRTC_APPEND_FLAGS follows the request's own options where NVRTC would take it") {
  auto request = testing::MakeRequest("code");
  auto& program = std::get<NvrtcProgram>(request->program);
  program.options = {"-arch=sm_90"};
  program.environment = {{"NVRTC_APPEND_FLAGS", " -G\t  -lineinfo \n"}, {"OTHER", "-x"}};
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_90"});
  program.environment.push_back({"NVRTCWIZ", "1"});
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_90"});
  program.environment.back().second = "3153394";
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_90", "-G\t", "-lineinfo", "\n"});
  request->program = cccl_cache::LinkProgram{.options = {"-arch=sm_80"}};
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_80"});
  request->program = cccl_cache::NvvmProgram{.options = {"-opt=3"}};
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-opt=3"});
}

TEST_CASE("a text that NVRTC would not read to its end is refused with the place of its NUL") {
  auto request = testing::MakeRequest("int a;\0int b;"s);
  const Status source = CheckTexts(*request);
  REQUIRE_FALSE(source);
  CHECK(source.error().code == ErrorCode::kInvalidRequest);
  CHECK(source.error().message.find("nvrtc.source has a NUL byte at offset 6") == 0);
  auto& program = std::get<NvrtcProgram>(request->program);
  program.source = "int a;";
  CHECK(CheckTexts(*request));
  program.headers = {{"fine.h", "1"}, {"a.h", "12\0"s}};
  const Status header = CheckTexts(*request);
  REQUIRE_FALSE(header);
  CHECK(header.error().message.find("nvrtc.headers[\"a.h\"] has a NUL byte at offset 2") == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/request.h"

#include <catch2/catch.hpp>

namespace cccl_cache::request_test {
namespace {

TEST_CASE("the size of a request of each kind is that of its texts and contents") {
  BuildRequest nvrtc;
  NvrtcProgram program;
  program.source = "12345";
  program.headers = {{"a.h", "123"}, {"b.h", ""}};
  program.name = "k";
  program.environment = {{"A", "12"}};
  nvrtc.program = program;
  nvrtc.working_directory = "/x";
  CHECK(BytesOf(nvrtc) == 5 + 6 + 3 + 1 + 3 + 2);
  program.options = {"-DA=12345"};
  program.name_expressions = {"f<int>"};
  const size_t without = BytesOf(nvrtc);
  nvrtc.program = program;
  CHECK(BytesOf(nvrtc) == without + 2 * sizeof(std::string) + 9 + 6);

  BuildRequest link;
  LinkProgram inputs;
  inputs.inputs = {{LinkInputType::kPtx, "a", "1234"}, {LinkInputType::kCubin, "b", "12"}};
  link.program = inputs;
  CHECK(BytesOf(link) == 8);

  BuildRequest nvvm;
  NvvmProgram modules;
  modules.modules = {{"a", "1", false}, {"b", "12", true}};
  nvvm.program = modules;
  CHECK(BytesOf(nvvm) == 5);
}

}  // namespace
}  // namespace cccl_cache::request_test

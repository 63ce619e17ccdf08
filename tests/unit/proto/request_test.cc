// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/request.h"

#include <catch2/catch.hpp>

namespace cccl_cache {
namespace {

TEST_CASE("a request weighs what its contents weigh, of every kind") {
  BuildRequest nvrtc;
  NvrtcProgram program;
  program.source = "12345";
  program.headers = {{"a.h", "123"}, {"b.h", ""}};
  nvrtc.program = program;
  CHECK(BytesOf(nvrtc) == 8);

  BuildRequest link;
  LinkProgram inputs;
  inputs.inputs = {{LinkInputType::kPtx, "a", "1234"}, {LinkInputType::kCubin, "b", "12"}};
  link.program = inputs;
  CHECK(BytesOf(link) == 6);

  BuildRequest nvvm;
  NvvmProgram modules;
  modules.modules = {{"a", "1", false}, {"b", "12", true}};
  nvvm.program = modules;
  CHECK(BytesOf(nvvm) == 3);
}

}  // namespace
}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "cccl_cache/client_c.h"
#include "client/src/c_abi/handles.h"
#include "client/src/c_abi/this_process.h"

namespace loaded_cuda_test {

namespace {

/// Returns the major for a build with the settings of this process.
uint32_t Major(cccl_cache_build_options options) {
  options.struct_size = sizeof(options);
  options.as_this_process = 1;
  return cccl_cache::AsThisProcess(cccl_cache_nvrtc{}, options).options().toolchain_major;
}

}  // namespace

TEST_CASE("the CUDA major is that of the loaded libraries, unless the build names a toolchain") {
  CHECK(cccl_cache_loaded_cuda_major() == 0);
  void* const linker =
      dlopen(FAKE_TOOLCHAINS "/fake_cuda12/lib/libnvJitLink.so.12", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(linker != nullptr);
  CHECK(cccl_cache_loaded_cuda_major() == 12);
  void* const compiler =
      dlopen(FAKE_TOOLCHAINS "/fake_cuda13/lib/libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(compiler != nullptr);
  CHECK(cccl_cache_loaded_cuda_major() == 13);
  CHECK(cccl_cache_loaded_cuda_major() == 13);

  CHECK(Major({}) == 13);
  CHECK(Major({.toolchain_major = 12}) == 12);
  CHECK(Major({.toolchain_version = cccl_cache::ToBytes("12.9")}) == 0);
  dlclose(compiler);
  dlclose(linker);
}

}  // namespace loaded_cuda_test

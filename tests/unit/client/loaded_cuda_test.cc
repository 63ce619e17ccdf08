// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "cccl_cache/client_c.h"

TEST_CASE("the CUDA major is that of the libraries that are loaded") {
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
  dlclose(compiler);
  dlclose(linker);
}

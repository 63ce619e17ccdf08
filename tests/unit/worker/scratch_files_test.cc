// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/worker/files/memory_files.h"

namespace cccl_cache::daemon {
namespace {

TEST_CASE("a compiler's scratch files are told from users' files and directories of a like name") {
  CHECK(ScratchFiles::Owns("/tmp/edg1_123"));
  CHECK(ScratchFiles::Owns("/tmp/edg12_4"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edgar"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edgar/kernel.cu"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edg1/kernel.cu"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edg"));
  CHECK_FALSE(ScratchFiles::Owns("/home/tmp/edg1_123"));
}

}  // namespace
}  // namespace cccl_cache::daemon

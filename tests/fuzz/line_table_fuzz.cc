// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Cubins that nvcc left in a file, or that a deposit may return.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/standin/line_table.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/line_tables.h"

using cccl_cache::line_tables::Cubin;
using cccl_cache::line_tables::Table;

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string file("etc\0\1\x80\x80\x80\x80\x01\x80\x20", 12);
  return {Cubin(Table("/", file)), Cubin(Table("/", file, 4) + Table("", "")), Cubin("")};
}

/// The size of a cubin stays.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string cubin(reinterpret_cast<const char*>(data), size);
  [[maybe_unused]] const auto missing = cccl_cache::standin::SetTimes(&cubin);
  assert(cubin.size() == size);
  return 0;
}

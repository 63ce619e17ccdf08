// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Records of nvcc's programs, which share the memory that holds them.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/nvcc/record.h"
#include "client/nvcc/trace.h"
#include "tests/fuzz/seeds.h"

using namespace cccl_cache::nvcc;  // NOLINT

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  std::string records(SizeOfRecord(5), '\0');
  auto* const record = reinterpret_cast<Record*>(records.data());
  record->written = 1;
  record->size = 5;
  record->kind = RecordKind::kBegin;
  std::string_view("/nvcc").copy(records.data() + sizeof(Record), 5);
  RecordHead head{.used = records.size(), .lost = 0, .keeps_texts = 0, .token = 0};
  return {std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + records};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Trace trace = ReadTrace({reinterpret_cast<const char*>(data), size}, "/there");
  for (const auto& [name, use] : trace.uses) assert(name[0] == '/');
  return 0;
}

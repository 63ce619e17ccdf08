// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Answers of a daemon, or of an impostor, about itself. Any bytes become valid JSON or an error.
// The first byte selects the message type.
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/wire/message_json.h"
#include "proto/message_tables.h"
#include "tests/fuzz/seeds.h"

namespace tables = cccl_cache::tables;

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string statistic("\x00\x0a\x0c\x0a\x01n\x19\x00\x00\x00\x00\x00\x00\xf8\x3f\x12\x01v",
                              18);
  const std::string flight("\x01\x08\x02\x2a\x06\x0a\x02kk\x20\x02", 11);
  const std::string difference("\x02\x08\x03\x32\x07\x08\x02\x12\x03\x61.h", 12);
  return {statistic, flight, difference};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr std::array kTables = {&tables::kStatsReply, &tables::kActivityReply,
                                  &tables::kExplainReply, &tables::kToolchainsReply};
  const std::string_view message(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto json = cccl_cache::ToJson(message, *kTables[data[0] % kTables.size()]);
  assert(!json || nlohmann::json::accept(*json));
  return 0;
}

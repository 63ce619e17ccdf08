// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/c_abi/memory_limit.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cccl_cache/client_c.h"

namespace cccl_cache {
namespace {

constexpr char kVariable[] = "CCCL_CACHE_PROCESS_BYTES";
constexpr uint64_t kDefault = uint64_t{64} << 20;

}  // namespace

Expected<uint64_t> MemoryLimit(uint64_t given) {
  if (given == CCCL_CACHE_OFF) return uint64_t{0};
  if (given != 0) return given;
  const char* variable = secure_getenv(kVariable);
  if (variable == nullptr) return uint64_t{kDefault};
  const std::string_view text = variable;
  if (text == "off") return uint64_t{0};
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return Error{CCCL_CACHE_INVALID_REQUEST, std::string(kVariable) + " is \"" + variable +
                                                 "\": a number of bytes, or off, is expected"};
  }
  return bytes;
}

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/toolchain_choice.h"

#include <algorithm>

namespace cccl_cache::cli {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 3 &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

bool IsVersion(std::string_view text) {
  const size_t dot = text.find('.');
  return dot != std::string_view::npos && IsNumber(text.substr(0, dot)) &&
         IsNumber(text.substr(dot + 1));
}

bool IsId(std::string_view text) {
  return text.size() >= 8 && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Expected<Done> ChooseToolchain(const std::string& spec, BuildOptions* options) {
  if (spec.empty()) return Done{};
  if (IsNumber(spec)) {
    options->toolchain_major = static_cast<uint32_t>(std::stoul(spec));
  } else if (IsVersion(spec)) {
    options->toolchain_version = spec;
  } else if (IsId(spec)) {
    options->toolchain_id = spec;
  } else {
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 "--toolchain " + spec +
                     " is neither a major (13), nor a version (12.9), nor an id of at least 8 "
                     "hexadecimal digits: `cccl-cache-cli toolchains` lists those present"};
  }
  return Done{};
}

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Stored runs of nvcc as a deposit may return them.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/nvcc/kept_step.h"
#include "tests/fuzz/seeds.h"

using namespace cccl_cache::nvcc;  // NOLINT

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  using Kind = Closure::Kind;
  const KeptStep step{
      .made_s = 1,
      .took_us = 2,
      .only_in = "/there/a.cu",
      .closure = Closure({{"/there/a.h", Kind::kFile, true, cccl_cache::Sha256(""), ""},
                          {"/there/b.h", Kind::kAbsent, false, {}, ""},
                          {"/there/b.h", Kind::kReal, false, {}, "/c.h"},
                          {"/there", Kind::kNames, false, {}, ""}}),
      .products = {{"a.o", false, "contents"}},
      .out = "",
      .err = "a warning"};
  return {step.Encode()};
}

/// A kept run has one encoding: a decoded one encodes to the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto step = KeptStep::Decode(bytes)) assert(step->Encode() == bytes);
  return 0;
}

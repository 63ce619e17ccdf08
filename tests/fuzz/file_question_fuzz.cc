// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/compile/file_question.h"

/// What decodes is what was sent: the format has one spelling for each question and answer.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cccl_cached;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto name = DecodeFileQuestion(bytes)) {
    assert(*name == bytes && IsFileQuestion(*name));
  }
  if (const auto answer = DecodeFileAnswer(bytes)) {
    assert(EncodeFileAnswerHeader(answer->header) + std::string(answer->contents) == bytes);
  }
  return 0;
}

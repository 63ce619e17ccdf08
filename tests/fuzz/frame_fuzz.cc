// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/compile/frame.h"

/// What decodes must encode to the same bytes: the format has one spelling for each message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cccl_cached;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = DecodeControlMessage(bytes)) {
    assert(EncodeControlMessage(*message) == bytes);
  }
  // Error texts are cut when they are sent, so these need not come back the same.
  (void)DecodeControlAnswer(bytes);
  (void)DecodeStatusMessage(bytes);
  if (const auto length = DecodeFrameHeader(bytes)) {
    assert(EncodeFrameHeader(*length) == bytes);
  }
  return 0;
}

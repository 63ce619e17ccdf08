// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/utf8.h"

#include <catch2/catch.hpp>

namespace cccl_cache::daemon {
namespace {

TEST_CASE("well-formed text stays as it is") {
  for (const char* text : {"", "plain", "\u00e9\u20ac", "\U0001F600 end"}) {
    CHECK(ToUtf8(text) == text);
  }
}

TEST_CASE("what is not UTF-8 becomes question marks, byte by byte") {
  CHECK(ToUtf8("a\xE9z") == "a?z");
  CHECK(ToUtf8("\xC0\xAF") == "??");            // overlong
  CHECK(ToUtf8("\xED\xA0\x80") == "???");       // surrogate
  CHECK(ToUtf8("\xF4\x90\x80\x80") == "????");  // above U+10FFFF
  CHECK(ToUtf8("\xE2\x82") == "??");            // cut off
}

}  // namespace
}  // namespace cccl_cache::daemon

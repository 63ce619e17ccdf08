// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace cccl_cache::text_test {
namespace {

TEST_CASE("well-formed text is unchanged") {
  for (const char* text : {"", "plain", "\u00e9\u20ac", "\U0001F600 end"}) {
    CHECK(ToUtf8(text) == text);
  }
}

TEST_CASE("bytes that are not UTF-8 become question marks, byte by byte") {
  CHECK(ToUtf8("a\xE9z") == "a?z");
  CHECK(ToUtf8("\xC0\xAF") == "??");            // overlong
  CHECK(ToUtf8("\xED\xA0\x80") == "???");       // surrogate
  CHECK(ToUtf8("\xF4\x90\x80\x80") == "????");  // above U+10FFFF
  CHECK(ToUtf8("\xE2\x82") == "??");            // cut off
}

TEST_CASE("a text is cut between characters, and malformed bytes anywhere") {
  CHECK(CutAtCharacter("a\u20acb", 10) == "a\u20acb");
  CHECK(CutAtCharacter("a\u20acb", 4) == "a\u20ac");
  CHECK(CutAtCharacter("a\u20acb", 3) == "a");
  CHECK(CutAtCharacter("a\u20acb", 2) == "a");
  CHECK(CutAtCharacter("\U0001F600", 3).empty());
  CHECK(CutAtCharacter("\xE9\xE9\xE9", 2) == "\xE9\xE9");
}

TEST_CASE("characters that could steer a terminal become question marks") {
  CHECK(Printable("plain \u00e9\u20ac") == "plain \u00e9\u20ac");
  CHECK(Printable("a\x1b[2J\n\t\x7f\x80z") == "a?[2J????z");
  CHECK(Printable("\u0080\u009b\u009f\u00a0") == "???\u00a0");
  CHECK(Printable("\u202eold\u2066\u2069\u200f\u061c\u2028\u05d0") == "?old????\u2028\u05d0");
}

TEST_CASE("a misspelled name gets the most similar known name, an unlike one gets none") {
  const std::vector<std::string> names = {"socket", "socket_mode", "jobs"};
  CHECK(DidYouMean("sockt", names) == "; did you mean socket?");
  CHECK(DidYouMean("socket-mode", names) == "; did you mean socket_mode?");
  CHECK(DidYouMean("job", names) == "; did you mean jobs?");
  CHECK(DidYouMean("colour", names).empty());
  CHECK(DidYouMean("", names).empty());
  CHECK(DidYouMean(std::string(100'000, 'x'), names).empty());
}

}  // namespace
}  // namespace cccl_cache::text_test

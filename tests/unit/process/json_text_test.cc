// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/json_text.h"

#include <catch2/catch.hpp>

using cccl_cache::daemon::AppendJsonString;

namespace {

std::string Json(std::string_view text) {
  std::string json;
  AppendJsonString(json, text);
  return json;
}

}  // namespace

TEST_CASE("text becomes a JSON string whatever is in it") {
  CHECK(Json("plain") == "\"plain\"");
  CHECK(Json("a\"b\\c\nd") == R"("a\"b\\c\u000ad")");
  CHECK(Json("k\xc3\xa4se \xf0\x9f\x98\x80") == "\"k\xc3\xa4se \xf0\x9f\x98\x80\"");
}

TEST_CASE("bytes that are not UTF-8 are replaced") {
  CHECK(Json("\xff") == R"("\ufffd")");
  CHECK(Json("\xc3") == R"("\ufffd")");
  CHECK(Json("\xc0\xaf") == R"("\ufffd\ufffd")");
  CHECK(Json("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");
  CHECK(Json("\xf4\x90\x80\x80") == R"("\ufffd\ufffd\ufffd\ufffd")");
}

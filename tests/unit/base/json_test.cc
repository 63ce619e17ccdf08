// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <catch2/catch.hpp>
#include <limits>

namespace json_test {

using cccl_cache::JsonWriter;

TEST_CASE("objects and arrays nest, empty ones stay on one line") {
  JsonWriter json;
  json.BeginObject();
  json.Key("a").BeginArray().Integer(1).String("x").Boolean(true).EndArray();
  json.Key("b").BeginObject().EndObject();
  json.Key("c").BeginArray().EndArray();
  CHECK(json.EndObject().Finish() ==
        "{\n  \"a\": [\n    1,\n    \"x\",\n    true\n  ],\n  \"b\": {},\n  \"c\": []\n}\n");
}

TEST_CASE("text is escaped, and bytes that are not UTF-8 are replaced") {
  const auto quoted = [](std::string_view text) { return JsonWriter().String(text).Finish(); };
  CHECK(quoted("\"\\\n\t\r\x01") == "\"\\\"\\\\\\n\\t\\r\\u0001\"\n");
  CHECK(quoted("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") ==
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\n");
  CHECK(quoted("\x7f\u0080\u009f\u00a0\u202e") == "\"\\u007f\\u0080\\u009f\u00a0\\u202e\"\n");
  CHECK(quoted("a\xff!") == "\"a\\ufffd!\"\n");
  CHECK(quoted("\xc3") == "\"\\ufffd\"\n");                                   // cut off
  CHECK(quoted("\xc0\xaf") == "\"\\ufffd\\ufffd\"\n");                        // overlong
  CHECK(quoted("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"\n");             // surrogate
  CHECK(quoted("\xf4\x90\x80\x80") == "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n");  // beyond Unicode
}

TEST_CASE("numbers are written as integers if possible, and always as JSON") {
  const auto number = [](double value) { return JsonWriter().Number(value).Finish(); };
  CHECK(number(3) == "3\n");
  CHECK(number(-1.5) == "-1.5\n");
  CHECK(number(1e300) == "1e+300\n");
  CHECK(number(std::numeric_limits<double>::quiet_NaN()) == "0\n");
  CHECK(number(std::numeric_limits<double>::infinity()) == "0\n");
}

TEST_CASE("fields are written by the types of their values") {
  JsonWriter json;
  json.BeginObject().Fields("text", "1", "flag", true, "big", UINT64_MAX, "below", -1, "part", 0.5);
  CHECK(json.EndObject().Finish() ==
        "{\n  \"text\": \"1\",\n  \"flag\": true,\n  \"big\": 18446744073709551615,\n"
        "  \"below\": -1,\n  \"part\": 0.5\n}\n");
}

}  // namespace json_test

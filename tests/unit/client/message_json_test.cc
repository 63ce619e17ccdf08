// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/message_json.h"

#include <cccl_cache/v1/admin.pb.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "proto/message_tables.h"

namespace cccl_cache::message_json_test {
namespace {

std::string Json(const google::protobuf::MessageLite& message, const MessageTable& table) {
  return ToJson(message.SerializeAsString(), table).value_or("");
}

Expected<std::string> Made(const std::vector<std::string>& arguments, const MessageTable& table) {
  std::vector<cccl_cache_bytes> given;
  for (const std::string& each : arguments) given.push_back({each.data(), each.size()});
  return FromArguments(given, table);
}

TEST_CASE("a message becomes an object with its fields by name, also those without a value") {
  v1::StatsReply reply;
  v1::Statistic* statistic = reply.add_statistics();
  statistic->set_name("hits_total");
  statistic->set_value(1.5);
  statistic->set_gauge(true);
  reply.set_version("\"1\"");
  CHECK(Json(reply, tables::kStatsReply) == R"({
  "statistics": [
    {
      "name": "hits_total",
      "label": "",
      "value": 1.5,
      "gauge": true,
      "help": "",
      "labels": ""
    }
  ],
  "version": "\"1\"",
  "hours": [],
  "dearest": []
}
)");
  reply.clear_statistics();
  reply.mutable_remote()->set_problem("p");
  CHECK(Json(reply, tables::kStatsReply) == R"({
  "statistics": [],
  "version": "\"1\"",
  "remote": {
    "address": "",
    "problem": "p"
  },
  "hours": [],
  "dearest": []
}
)");
}

TEST_CASE("an enum is its value's name, and a number keeps all of its digits") {
  v1::ExplainReply reply;
  reply.set_verdict(v1::VERDICT_NEVER_SEEN);
  reply.set_more_differences(UINT64_MAX);
  const std::string json = Json(reply, tables::kExplainReply);
  CHECK(json.find("\"verdict\": \"never-seen\"") != std::string::npos);
  CHECK(json.find("\"tier\": \"\"") != std::string::npos);
  CHECK(json.find("\"more_differences\": 18446744073709551615") != std::string::npos);
  reply.set_verdict(static_cast<v1::Verdict>(77));
  CHECK(Json(reply, tables::kExplainReply).find("\"verdict\": \"unknown\"") != std::string::npos);
}

TEST_CASE("malformed bytes are not converted to JSON") {
  v1::StatsReply reply;
  reply.add_statistics()->set_name("hits_total");
  std::string bytes = reply.SerializeAsString();
  bytes.pop_back();
  CHECK_FALSE(ToJson(bytes, tables::kStatsReply));
  CHECK_FALSE(ToJson("\x0a\x02\x0a\x05", tables::kStatsReply));  // ends inside a statistic
  CHECK_FALSE(ToJson(std::string("\x08\x01", 2), tables::kStatsReply));
}

TEST_CASE("a message with more values than a daemon ever has is not converted to JSON") {
  std::string bytes;  // keys, each empty
  for (int i = 0; i < 1 << 19; ++i) bytes += std::string("\x0a\x00", 2);
  CHECK(ToJson(bytes, tables::kEvictRequest));
  bytes += std::string("\x0a\x00", 2);
  CHECK_FALSE(ToJson(bytes, tables::kEvictRequest));
}

TEST_CASE("arguments become the fields of a request") {
  v1::EvictRequest request;
  REQUIRE(request.ParseFromString(
      *Made({"keys=0123abcd", "keys=a=b", "unused_s=3600", "all=true"}, tables::kEvictRequest)));
  REQUIRE(request.keys_size() == 2);
  CHECK(request.keys(1) == "a=b");
  CHECK(request.unused_s() == 3600);
  CHECK(request.all());
}

TEST_CASE("the error names an argument whose field or value is invalid") {
  for (const std::string wrong :
       {"", "all", "all=1", "key=0123", "unused_s=", "unused_s=-1", "unused_s=1h", "=x"}) {
    CAPTURE(wrong);
    const auto made = Made({"toolchain=13", wrong}, tables::kEvictRequest);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(made.error().message.find("\"" + wrong + "\"") != std::string::npos);
  }
  CHECK(Made({"driver_version=4294967295"}, tables::kToolchainsRequest).ok());
  CHECK_FALSE(Made({"driver_version=4294967296"}, tables::kToolchainsRequest).ok());
}

}  // namespace
}  // namespace cccl_cache::message_json_test

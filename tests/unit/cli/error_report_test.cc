// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cli/command.h"

using namespace cccl_cache::cli;
using cccl_cache::JsonWriter;

namespace {

std::string Written(const cccl_cache::Error& error) {
  JsonWriter json;
  json.BeginObject();
  WriteError(error, &json);
  return json.EndObject().Finish();
}

}  // namespace

TEST_CASE("an error for scripts is the name of its status and its message") {
  CHECK(Written({CCCL_CACHE_DENIED, "not yours"}) ==
        "{\n  \"error\": {\n    \"status\": \"denied\",\n    \"message\": \"not yours\"\n  }\n}\n");
}

TEST_CASE("when to come back is there only where the daemon said it") {
  const std::string key = "\"retry_ms\"";
  CHECK(Written({CCCL_CACHE_OVERLOADED, "full"}).find(key) == std::string::npos);
  CHECK(Written({CCCL_CACHE_OVERLOADED, "full", 40}).find(key + ": 40") != std::string::npos);
}

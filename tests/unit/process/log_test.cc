// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/log.h"

#include <catch2/catch.hpp>

using namespace cccl_cache::daemon;

TEST_CASE("a line for people holds the event, the message and the fields") {
  CHECK(TextLine("build", "", {{"uid", int64_t{1000}}, {"outcome", "hit"}}) ==
        "build uid=1000 outcome=hit");
  CHECK(TextLine("store", "set aside", {{"path", "/a b"}}) == "store: set aside path=\"/a b\"");
}

TEST_CASE("a text from elsewhere can't begin a second line") {
  CHECK(TextLine("e", "a\nb", {{"x", "c\nd"}}) == "e: a b x=\"c\\nd\"");
}

TEST_CASE("a line for machines holds the same as JSON members") {
  CHECK(JsonMembers("build", "it \"is\"", {{"uid", int64_t{-1}}, {"outcome", "hit"}}) ==
        R"(,"event":"build","message":"it \"is\"","uid":-1,"outcome":"hit")");
}

TEST_CASE("the level decides what is taken, and can be changed") {
  Log log(LogLevel::kWarning, LogFormat::kText);
  CHECK(log.Takes(LogLevel::kError));
  CHECK_FALSE(log.Takes(LogLevel::kInfo));
  log.SetLevel(LogLevel::kDebug);
  CHECK(log.Takes(LogLevel::kDebug));
}

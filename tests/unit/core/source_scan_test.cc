// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/source_scan.h"

#include <catch2/catch.hpp>

namespace cccl_cached {
namespace {

TEST_CASE("a time token is found as a whole identifier only") {
  CHECK(FindTimeToken("x = __TIME__;") == "__TIME__");
  CHECK(FindTimeToken("__TIMESTAMP__") == "__TIMESTAMP__");
  CHECK(FindTimeToken("MY__DATE__") == "");
  CHECK(FindTimeToken("__DATE__S __DATE__") == "__DATE__");
  CHECK(FindTimeToken("") == "");
}

TEST_CASE("static_assert is not assert") {
  CHECK_FALSE(HasPathToken("static_assert(true);"));
  CHECK(HasPathToken("assert(x);"));
  CHECK(HasPathToken("std::source_location::current()"));
  CHECK(HasPathToken("f(__FILE__)"));
}

TEST_CASE("a token that is split over two lines is found") {
  CHECK(FindTimeToken("__DA\\\nTE__") == "__DATE__");
  CHECK(FindTimeToken("__DA\\\r\nTE__") == "__DATE__");
  CHECK(HasPathToken("#define X \\\n __FI\\\nLE__"));
  CHECK_FALSE(HasPathToken("a\\\nb \\n"));
}

}  // namespace
}  // namespace cccl_cached

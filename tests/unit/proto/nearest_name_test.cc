// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/nearest_name.h"

#include <catch2/catch.hpp>

using cccl_cache::DidYouMean;

TEST_CASE("a misspelled name is answered with the nearest one, a strange one with nothing") {
  const std::vector<std::string> names = {"socket", "socket_mode", "jobs"};
  CHECK(DidYouMean("sockt", names) == "; did you mean socket?");
  CHECK(DidYouMean("socket-mode", names) == "; did you mean socket_mode?");
  CHECK(DidYouMean("job", names) == "; did you mean jobs?");
  CHECK(DidYouMean("colour", names).empty());
  CHECK(DidYouMean("", names).empty());
  CHECK(DidYouMean(std::string(100'000, 'x'), names).empty());
}

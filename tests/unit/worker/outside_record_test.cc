// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/outside_record.h"

#include <catch2/catch.hpp>
#include <string>

#include "daemon/compile/job.h"

using namespace cccl_cached;
using Answer = OutsideFile::Answer;

TEST_CASE("a name is recorded once, with its weightiest answer") {
  OutsideRecord record;
  record.Add("/a", Answer::kAbsent);
  record.Add("/a", Answer::kGiven);
  record.Add("/a", Answer::kDenied);
  REQUIRE(record.files().size() == 1);
  CHECK(record.files()[0].answer == Answer::kGiven);
}

TEST_CASE("a full record takes a file that was given in place of a name that was not") {
  OutsideRecord record;
  for (size_t i = 0; i < kMaxOutsideFiles; ++i) {
    record.Add("/absent" + std::to_string(i), Answer::kAbsent);
  }
  record.Add("/denied", Answer::kDenied);
  record.Add("/given", Answer::kGiven);
  REQUIRE(record.files().size() == kMaxOutsideFiles);
  CHECK(record.files()[0].path == "/given");
  CHECK(record.files()[1].path == "/absent1");
}

TEST_CASE("an endless path is cut, so that the reply stays readable") {
  OutsideRecord record;
  record.Add(std::string(1 << 20, 'x'), Answer::kDenied);
  CHECK(record.files()[0].path.size() == 4096);
}

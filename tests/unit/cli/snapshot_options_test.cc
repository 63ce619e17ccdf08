// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cli/snapshot_command.h"

using namespace cccl_cache::cli;

namespace {

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'000'000'000)};

int64_t Seconds(const std::string& text) {
  const auto moment = ParseMoment(text, kNow);
  INFO(text);
  REQUIRE(moment.has_value());
  return moment->time_since_epoch().count();
}

/// What the options hold, and what was wrong.
std::string Parse(std::vector<std::string> words, SnapshotOptions* options) {
  CLI::App app;
  AddFileArgument(&app, options, "a file");
  AddFilterOptions(&app, options);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a moment is a date, a time in UTC, or seconds since 1970") {
  CHECK(Seconds("2001-09-09") == 999'993'600);
  CHECK(Seconds("2001-09-09T01:46:40") == 1'000'000'000);
  CHECK(Seconds("2001-09-09T01:46:40Z") == 1'000'000'000);
  CHECK(Seconds("123") == 123);
}

TEST_CASE("a moment may be told by how long ago it was") {
  CHECK(Seconds("1s") == 999'999'999);
  CHECK(Seconds("2m") == 1'000'000'000 - 120);
  CHECK(Seconds("3h") == 1'000'000'000 - 3 * 3600);
  CHECK(Seconds("7d") == 1'000'000'000 - 7 * 86400);
}

TEST_CASE("what is no moment is not taken for one") {
  for (const char* text : {"", "d", "7w", "7dd", "-7d", "0d", "2001-13-01", "2001-09-09T",
                           "2001-09-09 01:46", "yesterday", "99999999999999d", "1.5h"}) {
    INFO(text);
    CHECK_FALSE(ParseMoment(text, kNow).has_value());
  }
}

TEST_CASE("a time that is none is refused with examples") {
  SnapshotOptions options;
  const std::string wrong = Parse({"f", "--after", "soon"}, &options);
  CHECK(wrong.find("\"soon\" is no time: give 2026-05-04") != std::string::npos);
  CHECK_FALSE(options.filter.since.has_value());
}

TEST_CASE("each option that says what goes in narrows, and asking for others is another thing") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--toolchain", "13"},
                                             {"--arch", "sm_90"},
                                             {"--after", "7d"},
                                             {"--before", "7d"},
                                             {"--namespace", "org.example"},
                                             {"--uid", "7"}}) {
    SnapshotOptions options;
    std::vector<std::string> all = {"f"};
    all.insert(all.end(), words.begin(), words.end());
    CHECK(Parse(all, &options).empty());
    CHECK(options.file == "f");
    CHECK(options.Narrows());
    CHECK(options.AsksForOthers() == (words.front() == "--uid"));
  }
  SnapshotOptions options;
  CHECK(Parse({"f", "--all-users"}, &options).empty());
  CHECK_FALSE(options.Narrows());
  CHECK(options.AsksForOthers());
}

TEST_CASE("a file is asked for") {
  SnapshotOptions options;
  CHECK(Parse({}, &options).find("FILE") != std::string::npos);
}

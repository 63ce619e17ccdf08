// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_command.h"

#include <CLI/App.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace snapshot_command_test {

using namespace cccl_cache::cli;

namespace {

struct Scene {
  Scene() { Library() = FakeLibrary(); }

  [[nodiscard]] std::string Contents() const {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  std::string file = directory.Write("s.snap", "old");
  std::string absent = directory / "absent";
};

}  // namespace

TEST_CASE("snapshot create writes the daemon's file and counts its records") {
  const Scene scene;
  const Said said = RunCommand({"snapshot", "create", scene.file});
  CHECK(said.exit_code == 0);
  CHECK(said.output == "1 entry written, 8 bytes\n");
  CHECK(scene.Contents() == "snapshot");
  CHECK_FALSE(Library().all_users);
}

TEST_CASE("snapshot create to standard output writes the file and nothing else") {
  const Scene scene;
  for (const bool json : {false, true}) {
    CHECK(RunCommand({"snapshot", "create", "-"}, {.json = json}).output == "snapshot");
  }
}

TEST_CASE("a snapshot create that fails leaves the file unchanged") {
  const Scene scene;
  Library().failures = {{"snapshot_create", CCCL_CACHE_UNAVAILABLE}};
  CHECK(RunCommand({"snapshot", "create", scene.file}).exit_code == 5);
  CHECK(scene.Contents() == "old");
}

TEST_CASE("an empty snapshot is refused with the reason, and the file is unchanged") {
  const Scene scene;
  const auto refused = [&](std::vector<std::string> words, uint64_t left_out) {
    Library().summary = {sizeof(cccl_cache_snapshot_summary), 0, 0, left_out, 0};
    words.insert(words.begin(), {"snapshot", "create", scene.file});
    const Said said = RunCommand(words);
    CHECK(said.exit_code == 4);
    CHECK(Has(said.errors, scene.file + " is unchanged"));
    CHECK(scene.Contents() == "old");
    return said.errors;
  };
  CHECK(Has(refused({}, 0), "no build of yours that it has answered yet"));
  CHECK(Has(refused({"--arch", "sm_90"}, 0), "no entry matches the options"));
  CHECK(Has(refused({}, 2), "the matching entries are not kept any more"));
  CHECK(Has(refused({"--all-users"}, 2), "is kept for all users"));
  CHECK(Library().all_users);
}

TEST_CASE("snapshot create through a link writes the target, unless the snapshot is empty") {
  const Scene scene;
  const std::string link = scene.directory / "link";
  std::filesystem::create_symlink(scene.file, link);
  Library().summary.records = 0;
  CHECK(RunCommand({"snapshot", "create", link}).exit_code == 4);
  CHECK(scene.Contents() == "old");
  Library().summary.records = 1;
  CHECK(RunCommand({"snapshot", "create", link}).exit_code == 0);
  CHECK(scene.Contents() == "snapshot");
  CHECK(std::filesystem::is_symlink(link));
}

TEST_CASE("snapshot delta may be empty, and needs a snapshot to start from") {
  const Scene scene;
  Library().summary.records = 0;
  const std::string more = scene.directory / "more.snap";
  CHECK(RunCommand({"snapshot", "delta", "--since", scene.file, more}).exit_code == 0);
  CHECK(Library().called == "snapshot_delta");
  CHECK(Has(RunCommand({"snapshot", "delta", "--since", scene.absent, more}).errors,
            "can't read " + scene.absent));
  Library().failures = {{"snapshot_list", CCCL_CACHE_INVALID_REQUEST}};
  const std::string unwritten = scene.directory / "unwritten.snap";
  CHECK(Has(RunCommand({"snapshot", "delta", "--since", scene.file, unwritten}).errors,
            scene.file + ": snapshot_list failed"));
  CHECK_FALSE(std::filesystem::exists(unwritten));
}

TEST_CASE("snapshot insert names the users that it serves") {
  const Scene scene;
  CHECK(Has(RunCommand({"snapshot", "insert", scene.file}).output, "inserted for you alone"));
  Library().summary.shared = 1;
  Library().summary.left_out = 2;
  CHECK(RunCommand({"snapshot", "insert", scene.file}).output ==
        "1 entry inserted for everybody (deposits among them for you alone), 8 bytes; 2 there "
        "already\n");
  CHECK(Has(RunCommand({"snapshot", "insert", scene.file}, {.json = true}).output,
            "\"shared\": true"));
  Library().failures = {{"snapshot_insert", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"snapshot", "insert", scene.file}).exit_code == 4);
}

TEST_CASE("snapshot list and verify need no daemon") {
  const Scene scene;
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  Library().items = {{CCCL_CACHE_SNAPSHOT_ARTIFACT, "aa", "sm_90", ""}};
  CHECK(Has(RunCommand({"snapshot", "list", scene.file}).output, "aa  artifact  sm_90"));
  CHECK(Has(RunCommand({"snapshot", "list", scene.file}, {.json = true}).output, "\"records\""));
  CHECK(Has(RunCommand({"snapshot", "verify", scene.file}).output, "1 entry as written"));
  Library().failures = {{"snapshot_verify", CCCL_CACHE_PROTOCOL}};
  CHECK(RunCommand({"snapshot", "verify", scene.file}).exit_code == 5);
}

TEST_CASE("each command that reads a snapshot names a damaged file") {
  const Scene scene;
  Library().failures = {{"snapshot_list", CCCL_CACHE_INVALID_REQUEST},
                        {"snapshot_verify", CCCL_CACHE_INVALID_REQUEST},
                        {"snapshot_insert", CCCL_CACHE_INVALID_REQUEST}};
  for (const char* command : {"list", "verify", "insert"}) {
    const Said said = RunCommand({"snapshot", command, scene.file});
    CHECK(said.exit_code == 4);
    CHECK(Has(said.errors, scene.file + ": snapshot_" + command + " failed"));
  }
}

TEST_CASE("each command that reads a snapshot names a missing file") {
  const Scene scene;
  for (const char* action : {"insert", "list", "verify"}) {
    const Said said = RunCommand({"snapshot", action, scene.absent});
    CHECK(said.exit_code == 5);
    CHECK(Has(said.errors, "can't read " + scene.absent + ": No such file or directory"));
  }
  CHECK(Library().called.empty());
}

TEST_CASE("snapshot create without a daemon writes no file") {
  const Scene scene;
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"snapshot", "create", scene.absent}).exit_code == 3);
  CHECK(RunCommand({"snapshot", "insert", scene.file}).exit_code == 3);
  CHECK_FALSE(std::ifstream(scene.absent).good());
}

namespace {

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'000'000'000)};

int64_t Seconds(const std::string& text) {
  const auto moment = ParseMoment(text, kNow);
  INFO(text);
  REQUIRE(moment.has_value());
  return moment->time_since_epoch().count();
}

/// Parses the words into `options`; returns the errors.
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

TEST_CASE("a time may be given as an age") {
  CHECK(Seconds("1s") == 999'999'999);
  CHECK(Seconds("2m") == 1'000'000'000 - 120);
  CHECK(Seconds("3h") == 1'000'000'000 - 3 * 3600);
  CHECK(Seconds("7d") == 1'000'000'000 - 7 * 86400);
}

TEST_CASE("a text that is not a time is refused") {
  for (const char* text : {"", "d", "7w", "7dd", "-7d", "0d", "2001-13-01", "2001-09-09T",
                           "2001-09-09 01:46", "yesterday", "99999999999999d", "1.5h"}) {
    INFO(text);
    CHECK_FALSE(ParseMoment(text, kNow).has_value());
  }
}

TEST_CASE("an invalid time is refused with examples") {
  SnapshotOptions options;
  const std::string wrong = Parse({"f", "--after", "soon"}, &options);
  CHECK(wrong.find("\"soon\" is no time: give 2026-05-04") != std::string::npos);
  CHECK_FALSE(options.filter.since.has_value());
}

TEST_CASE("each filter option narrows; --uid and --all-users ask for other users' entries") {
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

TEST_CASE("a missing file argument is an error") {
  SnapshotOptions options;
  CHECK(Parse({}, &options).find("FILE") != std::string::npos);
}

namespace {

struct SnapshotReportScene {
  SnapshotReportScene() {
    Library() = FakeLibrary();
    Library().items = {{CCCL_CACHE_SNAPSHOT_ARTIFACT, std::string(64, 'a'), "sm_90", ""},
                       {CCCL_CACHE_SNAPSHOT_ARTIFACT, std::string(64, 'b'), "", ""},
                       {CCCL_CACHE_SNAPSHOT_DEPOSIT, std::string(64, 'c'), "", "org.example"}};
  }
};

}  // namespace

TEST_CASE("a line of the list has an artifact's properties, or a deposit's namespace") {
  const SnapshotReportScene scene;
  CHECK(*ListText(0) ==
        "aaaaaaaaaaaa  artifact  sm_90  1.2.3  aaaaaaaaaaaa  9\n"
        "bbbbbbbbbbbb  artifact  -  1.2.3  bbbbbbbbbbbb  9\n"
        "cccccccccccc  deposit  org.example  9\n");
}

TEST_CASE("names in a snapshot can't change how the terminal shows the list") {
  const SnapshotReportScene scene;
  Library().items = {{CCCL_CACHE_SNAPSHOT_ARTIFACT, std::string(64, 'a'), "\x1b[2J", ""},
                     {CCCL_CACHE_SNAPSHOT_DEPOSIT, std::string(64, 'c'), "", "a\nb"}};
  CHECK(*ListText(0) ==
        "aaaaaaaaaaaa  artifact  ?[2J  1.2.3  aaaaaaaaaaaa  9\n"
        "cccccccccccc  deposit  a?b  9\n");
}

TEST_CASE("the list as JSON has full keys and both sizes, and may be empty") {
  const SnapshotReportScene scene;
  const std::string json = *ListJson(0);
  CHECK(Has(json, "\"key\": \"" + std::string(64, 'c') + "\""));
  CHECK(Has(json, "\"namespace\": \"org.example\""));
  CHECK(Has(json, "\"stored_bytes\": 5"));
  Library().items.clear();
  CHECK(*ListJson(0) == "{\n  \"format_version\": 1,\n  \"records\": []\n}\n");
  CHECK(ListText(0)->empty());
}

TEST_CASE("a file that is no snapshot is an error, not a short list") {
  const SnapshotReportScene scene;
  Library().failures = {{"snapshot_list", CCCL_CACHE_INVALID_REQUEST}};
  CHECK(ListText(0).error().message == "snapshot_list failed");
  CHECK(ListJson(0).error().message == "snapshot_list failed");
}

TEST_CASE("a summary counts one entry in the singular, and left out entries only if any") {
  cccl_cache_snapshot_summary summary = {sizeof(summary), 1, 8, 0, 1};
  CHECK(SummaryText(summary, "written", "lost") == "1 entry written, 8 bytes\n");
  summary.records = 2;
  summary.left_out = 3;
  CHECK(SummaryText(summary, "written", "lost") == "2 entries written, 8 bytes; 3 lost\n");
  CHECK(SummaryJson(summary) ==
        "{\n  \"format_version\": 1,\n  \"records\": 2,\n  \"bytes\": 8,\n  \"left_out\": 3,\n  "
        "\"shared\": true\n}\n");
}

}  // namespace snapshot_command_test

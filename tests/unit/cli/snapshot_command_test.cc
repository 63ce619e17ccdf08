// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

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

TEST_CASE("snapshot create puts what the daemon sends in place and counts it") {
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

TEST_CASE("a snapshot that breaks off leaves the file as it was") {
  const Scene scene;
  Library().failures = {{"snapshot_create", CCCL_CACHE_UNAVAILABLE}};
  CHECK(RunCommand({"snapshot", "create", scene.file}).exit_code == 5);
  CHECK(scene.Contents() == "old");
}

TEST_CASE("a snapshot of nothing is refused, with why there is nothing, and the file stays") {
  const Scene scene;
  const auto refused = [&](std::vector<std::string> words, uint64_t left_out) {
    Library().summary = {sizeof(cccl_cache_snapshot_summary), 0, 0, left_out, 0};
    words.insert(words.begin(), {"snapshot", "create", scene.file});
    const Said said = RunCommand(words);
    CHECK(said.exit_code == 4);
    CHECK(Has(said.errors, scene.file + " is left as it was"));
    CHECK(scene.Contents() == "old");
    return said.errors;
  };
  CHECK(Has(refused({}, 0), "no build of yours that it has answered yet"));
  CHECK(Has(refused({"--arch", "sm_90"}, 0), "nothing fits the options"));
  CHECK(Has(refused({}, 2), "nothing of what fits is kept any more"));
  CHECK(Has(refused({"--all-users"}, 2), "is kept for everybody"));
  CHECK(Library().all_users);
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
  CHECK(Has(RunCommand({"snapshot", "delta", "--since", scene.file, more}).errors,
            scene.file + ": snapshot_list failed"));
}

TEST_CASE("snapshot insert says for whom") {
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

TEST_CASE("snapshot list and verify ask no daemon") {
  const Scene scene;
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  Library().items = {{CCCL_CACHE_SNAPSHOT_ARTIFACT, "aa", "sm_90", ""}};
  CHECK(Has(RunCommand({"snapshot", "list", scene.file}).output, "aa  artifact  sm_90"));
  CHECK(Has(RunCommand({"snapshot", "list", scene.file}, {.json = true}).output, "\"records\""));
  CHECK(Has(RunCommand({"snapshot", "verify", scene.file}).output, "1 entry as written"));
  Library().failures = {{"snapshot_verify", CCCL_CACHE_PROTOCOL}};
  CHECK(RunCommand({"snapshot", "verify", scene.file}).exit_code == 5);
}

TEST_CASE("a snapshot that is damaged is named by each command that reads one") {
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

TEST_CASE("a snapshot that is not there is named by each command that reads one") {
  const Scene scene;
  for (const char* action : {"insert", "list", "verify"}) {
    const Said said = RunCommand({"snapshot", action, scene.absent});
    CHECK(said.exit_code == 5);
    CHECK(Has(said.errors, "can't read " + scene.absent + ": No such file or directory"));
  }
  CHECK(Library().called.empty());
}

TEST_CASE("without a daemon no snapshot is begun") {
  const Scene scene;
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"snapshot", "create", scene.absent}).exit_code == 3);
  CHECK(RunCommand({"snapshot", "insert", scene.file}).exit_code == 3);
  CHECK_FALSE(std::ifstream(scene.absent).good());
}

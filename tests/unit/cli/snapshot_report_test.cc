// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cli/snapshot_command.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

using namespace cccl_cache::cli;

namespace {

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    Library().items = {{CCCL_CACHE_SNAPSHOT_ARTIFACT, std::string(64, 'a'), "sm_90", ""},
                       {CCCL_CACHE_SNAPSHOT_ARTIFACT, std::string(64, 'b'), "", ""},
                       {CCCL_CACHE_SNAPSHOT_DEPOSIT, std::string(64, 'c'), "", "org.example"}};
  }
};

}  // namespace

TEST_CASE("a line of the list has what decides of an artifact, and whose a deposit is") {
  const Scene scene;
  CHECK(*ListText(0) ==
        "aaaaaaaaaaaa  artifact  sm_90  1.2.3  aaaaaaaaaaaa  9\n"
        "bbbbbbbbbbbb  artifact  -  1.2.3  bbbbbbbbbbbb  9\n"
        "cccccccccccc  deposit  org.example  9\n");
}

TEST_CASE("the list for scripts has whole keys and both sizes, and is never no list") {
  const Scene scene;
  const std::string json = *ListJson(0);
  CHECK(Has(json, "\"key\": \"" + std::string(64, 'c') + "\""));
  CHECK(Has(json, "\"namespace\": \"org.example\""));
  CHECK(Has(json, "\"stored_bytes\": 5"));
  Library().items.clear();
  CHECK(*ListJson(0) == "{\n  \"records\": []\n}\n");
  CHECK(ListText(0)->empty());
}

TEST_CASE("a file that is no snapshot is an error, not a short list") {
  const Scene scene;
  Library().failures = {{"snapshot_list", CCCL_CACHE_INVALID_REQUEST}};
  CHECK(ListText(0).error().message == "snapshot_list failed");
  CHECK(ListJson(0).error().message == "snapshot_list failed");
}

TEST_CASE("a summary counts one entry as one, and says what was left out only if it was") {
  cccl_cache_snapshot_summary summary = {sizeof(summary), 1, 8, 0, 1};
  CHECK(SummaryText(summary, "written", "lost") == "1 entry written, 8 bytes\n");
  summary.records = 2;
  summary.left_out = 3;
  CHECK(SummaryText(summary, "written", "lost") == "2 entries written, 8 bytes; 3 lost\n");
  CHECK(SummaryJson(summary) ==
        "{\n  \"records\": 2,\n  \"bytes\": 8,\n  \"left_out\": 3,\n  \"shared\": true\n}\n");
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run/report.h"

namespace cccl_cache::cli::run_report_test {
namespace {

/// Writes the counts of a process with so many hits.
void WriteFile(const RunReport& report, const std::string& name, int pid, int step_of,
               uint64_t hits) {
  interpose::ProcessCounts counts;
  counts.pid = pid;
  counts.step_of = step_of;
  counts.calls = hits;
  counts.hits = hits;
  std::ofstream(report.directory() + "/" + name, std::ios::binary)
      .write(reinterpret_cast<const char*>(&counts), sizeof(counts));
}

TEST_CASE("a process that got the pid of a step is counted apart from the step") {
  const auto report = RunReport::Make();
  REQUIRE(report.ok());
  WriteFile(*report, "run", 10, 0, 1000);
  WriteFile(*report, "step", 11, 10, 200);
  WriteFile(*report, "library", 11, 0, 30);
  WriteFile(*report, "another library", 11, 0, 4);
  const auto told = nlohmann::json::parse(report->Json(true, {}));
  CHECK(told["hits"] == 1034);
  CHECK(told["steps"]["hits"] == 200);
  CHECK(told["process_count"] == 2);
  CHECK(told["processes"].size() == 3);
}

}  // namespace
}  // namespace cccl_cache::cli::run_report_test

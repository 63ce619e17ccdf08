// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run/report.h"

namespace cccl_cache::cli::run_report_test {
namespace {

void WriteFile(const RunReport& report, const std::string& name,
               const interpose::ProcessCounts& counts) {
  std::ofstream(report.directory() + "/" + name, std::ios::binary)
      .write(reinterpret_cast<const char*>(&counts), sizeof(counts));
}

/// Writes the counts of a process with so many hits.
void WriteFile(const RunReport& report, const std::string& name, int pid, int step_of,
               uint64_t hits) {
  interpose::ProcessCounts counts;
  counts.pid = pid;
  counts.step_of = step_of;
  counts.calls = hits;
  counts.hits = hits;
  WriteFile(report, name, counts);
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

TEST_CASE("texts of a program and of the daemon can't change how the terminal shows the report") {
  const auto report = RunReport::Make();
  REQUIRE(report.ok());
  interpose::ProcessCounts counts;
  counts.calls = 1;
  std::strcpy(counts.program, "a\x1b[2J");
  std::strcpy(counts.unknown_library, "/libnvrtc.so.13");
  WriteFile(*report, "run", counts);
  const Advisor advisor{.unknown_library = [](const std::string& /*path*/) { return "b\x1b[2J"; }};
  const std::string text = report->Text(true, advisor, false);
  CHECK(text.find("a?[2J") != std::string::npos);
  CHECK(text.find("b?[2J") != std::string::npos);
}

}  // namespace
}  // namespace cccl_cache::cli::run_report_test

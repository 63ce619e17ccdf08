// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "cli/stats/html.h"
#include "cli/terminal/files.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace cccl_cache::cli::stats_html_test {
namespace {

constexpr uint64_t kHour = 3600;
constexpr uint64_t kNow = 500'000 * kHour + 1800;

HtmlContext Context() {
  return {.node = "node",
          .socket = "/socket",
          .problem = "",
          .now_s = kNow,
          .name_of = [](const std::string& label) { return label == "1000" ? "anna" : label; }};
}

HourlyStatistics HourAgo(uint64_t hours, double hits) {
  Statistic statistic;
  statistic.name = "hits_total";
  statistic.label = "memory";
  statistic.value = hits;
  return {.begin_s = (kNow / kHour - hours) * kHour, .statistics = {statistic}};
}

TEST_CASE("names that clients choose are escaped everywhere") {
  const std::string hostile = "<script>'\"&\x1b</script>";
  Statistics stats;
  stats.version = hostile;
  Statistic space;
  space.name = "deposit_saved_seconds_by_namespace_total";
  space.labels = "namespace=\"<script>'&\"";
  space.value = 9;
  stats.statistics = {space};
  stats.dearest = {{hostile, hostile, hostile, hostile, 1000, 0, 1000}};
  HtmlContext context = Context();
  context.node = context.socket = context.problem = hostile;
  context.name_of = [&hostile](const std::string&) { return hostile; };
  const std::string page = StatsHtml(stats, context);
  CHECK_FALSE(Has(page, "<script"));
  CHECK_FALSE(Has(page, "\x1b"));
  CHECK(Has(page, "&lt;script&gt;&#39;&quot;&amp;?&lt;/script&gt;"));
  CHECK(Has(page, "&lt;script&gt;&#39;&amp;"));
}

TEST_CASE("the page loads nothing and forbids the browser to") {
  const std::string page = StatsHtml({}, Context());
  CHECK(Has(page, "default-src 'none'"));
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import"}) {
    CHECK_FALSE(Has(page, outside));
  }
}

TEST_CASE("a page without any counts has no broken numbers") {
  const std::string page = StatsHtml({}, Context());
  CHECK(Has(page, "No hits yet."));
  CHECK(Has(page, "none yet"));
  for (const char* wrong : {"nan", "inf", "NaN"}) CHECK_FALSE(Has(page, wrong));
}

TEST_CASE("each hour has its bar, and empty hours have room between") {
  const auto bars = [](std::vector<HourlyStatistics> hours) {
    Statistics stats;
    stats.hours = std::move(hours);
    const std::string page = StatsHtml(stats, Context());
    size_t count = 0;
    for (size_t at = 0; (at = page.find("<g>", at)) != std::string::npos; ++at) ++count;
    return std::pair(count, page);
  };
  CHECK(bars({}).first == 24);
  const auto [count, page] = bars({HourAgo(5, 7), HourAgo(0, 1)});
  CHECK(count == 24);
  CHECK(Has(page, ": 7 hits, 0 deposits found"));
  CHECK(Has(page, ": 1 hit, 0 deposits found"));
  CHECK(bars({HourAgo(30, 7)}).first == 48);
  // Hours that are too old, or of a wrong clock, change nothing else.
  CHECK(bars({HourAgo(4000, 7), {.begin_s = kNow * 2, .statistics = {}}}).first == 48);
}

TEST_CASE("the longest compiles have their users' names, times and keys") {
  Statistics stats;
  stats.dearest = {{"sort.cu", "nvrtc", "13.0 (ab)", "0123456789abcdef", 91'000, 0, 1000},
                   {"fill.cu", "nvrtc", "13.0 (ab)", "fedcba9876543210", 44, 0, 1000}};
  const std::string page = StatsHtml(stats, Context());
  for (const char* part : {"sort.cu", "anna", "1 m 31 s", ">01234567<", "44 ms"}) {
    CHECK(Has(page, part));
  }
}

TEST_CASE("stats --html replaces the file, and keeps it if the daemon does not answer") {
  const FreshLibrary fresh;
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.path() + "/page.html";
  Library().statistics = {{"compiles_total", "", 2}};
  CHECK(RunCommand({"stats", "--html", path}).exit_code == 0);
  const std::string page = *ReadFile(path);
  CHECK(page.starts_with("<!DOCTYPE html>"));
  Library().failures = {{"stats", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"stats", "--html", path}).exit_code == 3);
  CHECK(*ReadFile(path) == page);
  CHECK(RunCommand({"stats", "--html", path, "--by", "user"}).exit_code == 2);
}

}  // namespace
}  // namespace cccl_cache::cli::stats_html_test

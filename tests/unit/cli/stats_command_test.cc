// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "cccl_cache/client.h"
#include "cli/stats/formats.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace stats_command_test {

using namespace cccl_cache::cli;

TEST_CASE("stats prints one of three formats") {
  const FreshLibrary fresh;
  Library().statistics = {{"compiles_total", "", 2}};
  CHECK(Has(RunCommand({"stats"}).output, "hit rate"));
  CHECK(RunCommand({"stats"}, {.json = true})
            .output.starts_with("{\n  \"format_version\": 1,\n  \"compiles_total\": 2"));
  CHECK(Has(RunCommand({"stats", "--openmetrics"}).output, "# EOF\n"));
}

TEST_CASE("stats shows the counters even if the daemon's health is unknown") {
  const FreshLibrary fresh;
  Library().statistics = {{"compiles_total", "", 2}};
  Library().failures = {{"info", CCCL_CACHE_OVERLOADED}};
  const Said said = RunCommand({"stats"});
  CHECK(said.exit_code == 0);
  CHECK(Has(said.output, "2 compiled"));
  CHECK(Has(said.output, "Problem   not known: info failed"));
}

TEST_CASE("stats refuses two formats at once, without asking the daemon") {
  const FreshLibrary fresh;
  CHECK(RunCommand({"stats", "--openmetrics"}, {.json = true}).exit_code == 2);
  CHECK(RunCommand({"stats", "--watch", "--zero"}).exit_code == 2);
  CHECK(RunCommand({"stats", "--by", "user", "--prometheus"}).exit_code == 2);
  CHECK(RunCommand({"stats", "--by", "group"}).exit_code == 2);
  for (const char* seconds : {"--watch=0", "--watch=-1", "--watch=soon", "--watch=nan",
                              "--watch=inf", "--watch=1e30", "--watch=2x"}) {
    CHECK(RunCommand({"stats", seconds}).exit_code == 2);
  }
  CHECK(Library().called.empty());
}

TEST_CASE("stats --watch prints rates until the daemon no longer answers") {
  const FreshLibrary fresh;
  Library().failures = {{"stats", CCCL_CACHE_NO_DAEMON}};
  Library().calls_before_failure = 3;
  const Said said = RunCommand({"stats", "--watch=0.01"});
  CHECK(said.exit_code == 3);
  CHECK(std::ranges::count(said.output, '\n') == 3);
  CHECK(Has(said.output, "builds/s"));
}

TEST_CASE("stats --zero ends with an error if the daemon denies it") {
  const FreshLibrary fresh;
  CHECK(RunCommand({"stats", "--zero"}).exit_code == 0);
  CHECK(Library().called == "zero-stats");
  Library().failures = {{"zero-stats", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"stats", "--zero"}).exit_code == 4);
}

TEST_CASE("stats --by shows a row for each user, kind or toolchain, most builds first") {
  const FreshLibrary fresh;
  Library().statistics = {
      {"builds_by_user_total", "", 2, false, "user=\"0\",outcome=\"hit\""},
      {"builds_by_user_total", "", 3, false, "user=\"3999999908\",outcome=\"built\""},
      {"builds_by_user_total", "", 1, false, "user=\"3999999908\",outcome=\"uncacheable\""},
      {"saved_seconds_by_user_total", "", 90, false, "user=\"0\""},
      {"builds_by_toolchain_total", "", 6, false,
       "kind=\"nvrtc\",toolchain=\"13.0 ab\",outcome=\"hit\""}};
  const std::string users = RunCommand({"stats", "--by", "user"}).output;
  CHECK(std::ranges::count(users, '\n') == 3);
  REQUIRE(Has(users, "\nroot "));
  CHECK(users.find("\n3999999908 ") < users.find("\nroot "));
  CHECK(Has(users, "1 m 30 s"));
  CHECK_FALSE(Has(users, "dep. hits"));
  CHECK(Has(RunCommand({"stats", "--by", "user"}, {.json = true}).output, "\"user\": \"0\""));
  CHECK(Has(RunCommand({"stats", "--by", "toolchain"}).output, "\n13.0 ab"));
  const std::string kinds = RunCommand({"stats", "--by", "kind"}, {.json = true}).output;
  CHECK(Has(kinds, "\"kind\": \"nvrtc\""));
  CHECK(Has(kinds, "\"hits\": 6"));
  Library().statistics = {
      {"deposits_by_user_total", "", 5, false, "user=\"3999999909\",outcome=\"hit\""},
      {"saved_unknown_by_user_total", "", 3, false, "user=\"3999999909\""}};
  const std::string deposits = RunCommand({"stats", "--by", "user"}).output;
  CHECK(Has(deposits, "unknown"));
  CHECK(Has(deposits, "dep. hits"));
  CHECK(Has(deposits, "\n3999999909 "));
  Library().statistics = {{"hit_duration_seconds_bucket", "", 0, false, "le=\"+Inf\""}};
  CHECK(Has(RunCommand({"stats", "--by", "user"}).output, "no builds"));
  Library().statistics.clear();
  CHECK(Has(RunCommand({"stats", "--by", "user"}).output, "older"));
}

TEST_CASE("stats --by namespace shows a row for each namespace, most deposits first") {
  const FreshLibrary fresh;
  const auto of = [](const std::string& label, const std::string& name) {
    return "namespace=\"" + name + "\"" + label;
  };
  Library().statistics = {
      {"deposits_by_namespace_total", "", 1, false, of(",outcome=\"built\"", "triton")},
      {"deposits_by_namespace_total", "", 7, false, of(",outcome=\"hit\"", "my.steps")},
      {"deposits_by_namespace_total", "", 2, false, of(",outcome=\"joined\"", "my.steps")},
      {"deposit_bytes_by_namespace_total", "", 2048, false, of(",direction=\"read\"", "my.steps")},
      {"deposit_bytes_by_namespace_total", "", 10, false, of(",direction=\"made\"", "triton")},
      {"deposit_saved_seconds_by_namespace_total", "", 90, false, of("", "my.steps")}};
  const std::string text = RunCommand({"stats", "--by", "namespace"}).output;
  CHECK(std::ranges::count(text, '\n') == 3);
  CHECK(text.find("\nmy.steps ") < text.find("\ntriton "));
  CHECK(Has(text, "1 m 30 s"));
  const std::string json = RunCommand({"stats", "--by", "namespace"}, {.json = true}).output;
  CHECK(Has(json, "\"namespace\": \"my.steps\""));
  CHECK(Has(json, "\"joined\": 2"));
  CHECK(Has(json, "\"read_bytes\": 2048"));
  CHECK(Has(json, "\"made_bytes\": 10"));
  Library().statistics.push_back({"deposits_total", "", 1});
  Library().statistics.push_back({"hit_duration_seconds_count", "", 1});
  const std::string verbose = RunCommand({"stats", "-v"}).output;
  CHECK(Has(verbose, "deposits_total"));
  CHECK(Has(verbose, "\nmy.steps "));
  CHECK_FALSE(Has(verbose, "hit_duration"));
  CHECK_FALSE(Has(verbose, "by_namespace"));
  Library().statistics = {{"hit_duration_seconds_bucket", "", 0, false, "le=\"+Inf\""}};
  CHECK(Has(RunCommand({"stats", "--by", "namespace"}).output, "no deposits"));
}

TEST_CASE("texts of a daemon can't change how the terminal shows its statistics") {
  const FreshLibrary fresh;
  Library().problem = "full\x1b[2J";
  Library().statistics = {
      {"deposits_by_namespace_total", "", 1, false, "namespace=\"\x1b[1m\",outcome=\"hit\""},
      {"builds_by_toolchain_total", "", 1, false, "toolchain=\"\x1b[1m\",outcome=\"hit\""}};
  CHECK(Has(RunCommand({"stats"}).output, "Problem   full?[2J "));
  CHECK(Has(RunCommand({"stats", "-v"}).output, "?[1m"));
  for (const char* by : {"namespace", "toolchain"}) {
    CHECK(Has(RunCommand({"stats", "--by", by}).output, "\n?[1m "));
  }
}

TEST_CASE("stats prints the daemon's error") {
  const FreshLibrary fresh;
  Library().failures = {{"stats", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"stats"}).exit_code == 4);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"stats"}).exit_code == 3);
}

namespace {

Statistics Answered() {
  auto client = cccl_cache::Client::Open();
  return *AskStatistics(*client);
}

/// Returns these statistics, in the daemon's order, in the given format.
std::string Formatted(std::string (*format)(const Statistics&),
                      std::vector<FakeStatistic> statistics) {
  const FreshLibrary fresh;
  Library().statistics = std::move(statistics);
  return format(Answered());
}

const std::vector<FakeStatistic> kApart = {{"hits_total", "memory", 3},
                                           {"compiles_total", "", 1},
                                           {"hits_total", "disk", 4},
                                           {"entries", "", 9, true}};

std::string OpenMetrics(const Statistics& stats) {
  return StatsOpenMetrics(stats, /*by_user=*/false);
}

}  // namespace

TEST_CASE("as JSON a statistic with labels is one object, also if its parts come separately") {
  CHECK(Formatted(StatsJson, kApart) ==
        "{\n  \"format_version\": 1,\n  \"hits_total\": {\n    \"memory\": 3,\n    \"disk\": 4\n  "
        "},\n"
        "  \"compiles_total\": 1,\n  \"entries\": 9,\n  \"version\": \"1.2.3\"\n}\n");
}

TEST_CASE("as OpenMetrics each family is declared once, before its samples") {
  CHECK(Formatted(OpenMetrics, kApart) ==
        "# HELP cccl_cached_build Version of the daemon.\n"
        "# TYPE cccl_cached_build info\n"
        "cccl_cached_build_info{version=\"1.2.3\"} 1\n"
        "# HELP cccl_cached_hits What it counts.\n"
        "# TYPE cccl_cached_hits counter\n"
        "cccl_cached_hits_total{tier=\"memory\"} 3\n"
        "cccl_cached_hits_total{tier=\"disk\"} 4\n"
        "# HELP cccl_cached_compiles What it counts.\n"
        "# TYPE cccl_cached_compiles counter\n"
        "cccl_cached_compiles_total 1\n"
        "# HELP cccl_cached_entries What it counts.\n"
        "# TYPE cccl_cached_entries gauge\n"
        "cccl_cached_entries 9\n"
        "# EOF\n");
}

TEST_CASE("as OpenMetrics a gauge named total, and a counter not named total, are gauges") {
  const std::string text =
      Formatted(OpenMetrics, {{"bytes_total", "", 1, true}, {"seconds", "", 0.5}});
  CHECK(Has(text, "# TYPE cccl_cached_bytes_total gauge\ncccl_cached_bytes_total 1\n"));
  CHECK(Has(text, "# TYPE cccl_cached_seconds gauge\ncccl_cached_seconds 0.5\n"));
}

TEST_CASE("as OpenMetrics the parts of a histogram are one family, and users are left out") {
  const std::string text = Formatted(
      OpenMetrics, {{"d_seconds_bucket", "", 1, false, "le=\"1.0\""},
                    {"d_seconds_count", "", 2, false, ""},
                    {"builds_by_user_total", "", 1, false, "user=\"7\",outcome=\"hit\""},
                    {"deposit_saved_seconds_by_namespace_total", "", 1, false, "namespace=\"a\""}});
  CHECK(Has(text,
            "# TYPE cccl_cached_d_seconds histogram\ncccl_cached_d_seconds_bucket{le=\"1.0\"} 1\n"
            "cccl_cached_d_seconds_count 2\n"));
  CHECK_FALSE(Has(text, "by_user"));
  CHECK_FALSE(Has(text, "by_namespace"));
  const auto series = [](const std::string& kind) -> std::vector<FakeStatistic> {
    return {{"c_seconds_bucket", "", 1, false, "kind=\"" + kind + "\",le=\"+Inf\""},
            {"c_seconds_count", "", 1, false, "kind=\"" + kind + "\""}};
  };
  std::vector<FakeStatistic> two = series("a");
  for (const FakeStatistic& each : series("b")) two.push_back(each);
  CHECK(Has(Formatted(OpenMetrics, two),
            "cccl_cached_c_seconds_count{kind=\"a\"} 1\n"
            "cccl_cached_c_seconds_bucket{kind=\"b\",le=\"+Inf\"} 1\n"));
}

TEST_CASE("a gauge and the total named after it have different names") {
  const std::string text =
      Formatted(OpenMetrics, {{"leases", "", 1, true}, {"leases_total", "", 5}});
  CHECK(Has(text, "# TYPE cccl_cached_leases_current gauge\ncccl_cached_leases_current 1\n"));
  CHECK(Has(text, "# TYPE cccl_cached_leases counter\ncccl_cached_leases_total 5\n"));
}

TEST_CASE("the hit rate is the share of hits of all tiers and joins in all builds") {
  std::vector<FakeStatistic> statistics = kApart;
  statistics.push_back({"joins_total", "", 1});
  const std::string text = Formatted(StatsText, statistics);
  CHECK(Has(text, "88.9 %"));
  CHECK(Has(text, "hits_total (disk)"));
  CHECK(text.starts_with("version "));
}

TEST_CASE("the summary has six lines, with readable units") {
  std::vector<FakeStatistic> statistics = kApart;
  statistics.insert(statistics.end(), {{"builds_total", "", 12'480},
                                       {"saved_seconds_total", "", 33'121},
                                       {"compile_seconds_total", "", 2.64},
                                       {"uptime_seconds", "", 273'600, true},
                                       {"bytes", "", 2.25e9, true}});
  const auto summary = [&](std::string_view problem) {
    const FreshLibrary fresh;
    Library().statistics = statistics;
    return StatsSummary(Answered(), "/s", problem);
  };
  const std::string text = summary("");
  CHECK(std::ranges::count(text, '\n') == 6);
  CHECK(text.starts_with("cccl-cached 1.2.3 at /s, up 3 d 4 h\n"));
  for (const char* part :
       {"12,480: 7 hits (memory 3, disk 4)", "9 h 12 m of compile time, spent 2.6 s",
        "Stored    2.1 GiB, 0 evicted", "hit rate 87.5 %", "none"}) {
    CHECK(Has(text, part));
  }
  CHECK_FALSE(Has(text, "memory)"));
  statistics.push_back({"waiting_for_memory", "", 3, true});
  CHECK(Has(summary(""), "compiling (3 wait for memory), "));
  CHECK(Has(summary("no toolchain"), "Problem   no toolchain"));
  CHECK_FALSE(Has(text, "Deposits"));
  CHECK_FALSE(Has(text, "unknown"));
  CHECK_FALSE(Has(text, "too large"));
  statistics.insert(statistics.end(), {{"saved_unknown_total", "", 2},
                                       {"deposit_hits_total", "", 6},
                                       {"deposits_total", "", 1},
                                       {"oversized_total", "", 5},
                                       {"remote_connected", "", 0, true},
                                       {"clients", "", 1, true}});
  for (const char* part :
       {"9 h 12 m of compile time, without 2 hits of unknown time, spent 2.6 s",
        " 0 evicted, 5 too large to keep; ", "\nDeposits  6 hits, 0 joined another's, 1 made",
        "\nRemote    not connected", "1 connection\n"}) {
    CHECK(Has(summary(""), part));
  }
  statistics[statistics.size() - 2].value = 1;
  CHECK_FALSE(Has(summary(""), "Remote"));
  statistics.push_back({"store_limit_bytes", "", 17'179'869'184, true});
  CHECK(Has(summary(""), "2.1 / 16.0 GiB (13 %), 0 evicted"));
  statistics.back().value = 5e8;
  CHECK(Has(summary(""), "2.1 GiB / 476.8 MiB (450 %)"));
}

TEST_CASE("a daemon that built nothing has no hit rate") {
  CHECK(Has(Formatted(StatsText, {}), "none yet"));
}

TEST_CASE("a long name keeps a space before its value") {
  const std::string name(50, 'n');
  CHECK(Has(Formatted(StatsText, {{name, "", 5}}), name + " 5\n"));
}

}  // namespace stats_command_test

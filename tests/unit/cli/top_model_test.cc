// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/terminal/quantities.h"
#include "cli/top/model.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace cccl_cache::cli::top::top_model_test {
namespace {

Flight Running(const std::string& key, double seconds, uint64_t waiters = 1) {
  const auto running = static_cast<uint64_t>(1000 * seconds);
  return {.key = key,
          .kind = "nvrtc",
          .toolchain = "13.0 00000000",
          .state = "running",
          .waiters = waiters,
          .age_ms = running,
          .running_ms = running,
          .uid = 1000,
          .program = "sort.cu"};
}

View ViewOf(std::vector<Flight> flights) {
  View view;
  view.socket = "/socket";
  view.sample.emplace();
  view.sample->activity.flights = std::move(flights);
  return view;
}

std::string Joined(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += line.text() + "\n";
  return text;
}

TEST_CASE("deposits are shown by namespace, once there are any") {
  View view = ViewOf({});
  CHECK(Text(view).find("steps") == std::string::npos);
  view.sample->activity.namespaces = {
      {.name = "my.steps", .hits = 7, .joined = 2, .made = 1, .read_bytes = 9, .saved_ms = 90'000},
      {.name = "triton", .made = 3}};
  CHECK(
      Text(view).find("steps   my.steps 7 hits, 2 joined, 1 made, saved 1 m 30 s; triton 0 hits") !=
      std::string::npos);
  const std::string json = Json(*view.sample);
  CHECK(json.find("\"namespace\": \"my.steps\"") != std::string::npos);
  CHECK(json.find("\"saved_seconds\": 90") != std::string::npos);
}

TEST_CASE("hits of the last minute are counted from the answer before that minute") {
  HitRates rates;
  CHECK_FALSE(rates.OfLastMinute());
  rates.Add(0, 100, 50);
  CHECK_FALSE(rates.OfLastMinute());
  rates.Add(1, 103, 51);
  CHECK(*rates.OfLastMinute() == 0.75);
  rates.Add(61, 103, 51);
  CHECK_FALSE(rates.OfLastMinute());
}

TEST_CASE("after totals were set to zero, the last minute starts again") {
  HitRates rates;
  rates.Add(1, 100, 50);
  rates.Add(2, 101, 50);
  rates.Add(3, 0, 0);
  CHECK_FALSE(rates.OfLastMinute());
  rates.Add(4, 0, 1);
  CHECK(*rates.OfLastMinute() == 0);
}

TEST_CASE("the sparkline has a character for each second, blank where nothing was built") {
  HitRates rates;
  CHECK(rates.Sparkline(60, true).empty());
  rates.Add(1, 0, 0);
  CHECK(rates.Sparkline(60, true).empty());
  rates.Add(2, 0, 1);
  rates.Add(3, 0, 1);
  rates.Add(4, 1, 2);
  rates.Add(5, 3, 2);
  CHECK(rates.Sparkline(60, true) == "\u2581 \u2585\u2588");
  CHECK(rates.Sparkline(2, true) == "\u2585\u2588");
  CHECK(rates.Sparkline(60, false) == "_ =#");
}

TEST_CASE("the expected memory of compiles has a line, with its limit if there is one") {
  View view = ViewOf({});
  view.sample->activity.compile_memory_bytes = 3ull << 29;
  CHECK(Has(Text(view), "memory  1.5 GiB expected, 0 compiles wait for it\n"));
  view.sample->activity.compile_memory_limit_bytes = 2ull << 30;
  view.sample->activity.waiting_for_memory = 4;
  CHECK(Has(Text(view), "1.5 GiB of 2.0 GiB expected, 4 compiles wait for it\n"));
  CHECK(Has(Json(*view.sample), "\"waiting_for_memory\": 4"));
  CHECK(Has(Json(*view.sample), "\"compile_memory_limit_bytes\": 2147483648"));
}

TEST_CASE("a shared Redis has a line only if one is configured") {
  View view = ViewOf({});
  CHECK_FALSE(Has(Text(view), "remote"));
  CHECK_FALSE(Has(Json(*view.sample), "remote"));
  const FreshLibrary fresh;
  Library().remote_address = "redis://r";
  Library().statistics = {{"hits_total", "memory", 99},       {"hits_total", "remote", 1204},
                          {"remote_lookups_total", "", 1410}, {"remote_late_total", "", 3},
                          {"remote_untrusted_total", "", 2},  {"remote_corrupt_total", "", 3},
                          {"remote_unwritten_bytes", "", 0},  {"remote_leases_held", "", 1}};
  auto client = Client::Open();
  view.sample = Sample{{}, *AskStatistics(*client)};
  CHECK(Has(Text(view),
            "remote  connected, 1,204 hits, 1,410 lookups, 3 late, 5 refused, outbox 0 bytes, 1 "
            "lease\n"));
  CHECK(Has(Json(*view.sample), "\"refused\": 5"));
  view.remote_rates.Add(1, 1200, 0);
  view.remote_rates.Add(2, 1204, 0);
  CHECK(Has(Text(view), "1,204 hits (4 in the last minute)"));
  CHECK(Has(Joined(Layout(view, {24, 40})), "1 lease\n"));  // wrapped, not cut
  view.sample->stats.remote.problem = "it refused";
  std::vector<Statistic>& statistics = view.sample->stats.statistics;
  statistics.push_back({.name = "remote_nodes", .value = 3});
  statistics.push_back({.name = "remote_nodes_connected", .value = 2});
  CHECK(Has(Text(view), "remote  2 of 3 nodes connected, 1,204 hits"));
  CHECK(Has(Text(view), "it refused\n"));
  CHECK(Has(Json(*view.sample), "\"connected\": true"));
  statistics.back().value = 0;
  CHECK(Has(Text(view), "remote  not connected: it refused\n"));
}

TEST_CASE("flights are sorted, and filtered by the texts of their columns") {
  View view = ViewOf({Running("aaaaaaaa11", 1, 3), Running("bbbbbbbb22", 2, 1)});
  view.sample->activity.flights[1].program = "reduce.cu";
  const auto first = [&view](Order order) {
    view.order = order;
    return Chosen(view)[0].key.substr(0, 1);
  };
  CHECK(first(Order::kState) == "a");
  CHECK(first(Order::kTime) == "b");
  CHECK(first(Order::kWaiters) == "a");
  CHECK(first(Order::kProgram) == "b");
  const auto found = [&view](const char* filter) {
    view.filter = filter;
    return Chosen(view).size();
  };
  CHECK(found("bbbbbbbb22") == 1);
  CHECK(found("nvrtc") == 2);
  CHECK(found("reduce") == 1);
  CHECK(found("queued") == 0);
  view.name_of = [](const std::string&) { return "anna"; };
  CHECK(found("anna") == 2);
  Order order = Order::kState;
  for (int i = 0; i < 6; ++i) order = Next(order);
  CHECK(order == Order::kState);
}

TEST_CASE("a user's name is shown in place of the number, also in queues, compilers and errors") {
  View view = ViewOf({Running("aaaaaaaa", 1)});
  view.sample->activity.users = {{"1000", 0, 1}, {"container-3", 2, 1}, {"c4", 3, 0}};
  view.sample->activity.zygotes = {{"13.0", 1 << 20, 1, "1000"}};
  view.sample->activity.failures = {{0, "nvrtc", 1000, "", "an error"}};
  view.name_of = [](const std::string& label) { return label == "1000" ? "anna" : label; };
  const std::string text = Text(view);
  CHECK_FALSE(Has(text, "1000"));
  CHECK(Has(text, "anna (1 running), container-3 (1 running, 2 queued), c4 (3 queued)"));
  CHECK(Has(text, "CUDA 13.0 (1 job, only anna)"));
  CHECK(Has(text, "anna     nvrtc  an error"));
}

TEST_CASE("a deposit is shown with the program that makes it, and sorted as it is shown") {
  View view = ViewOf({{.key = "aaaaaaaa", .kind = "triton", .state = "leased", .waiters = 1},
                      Running("bbbbbbbb", 1)});
  view.sample->activity.flights[1].program = "reduce.cu";
  CHECK(Has(Text(view), "triton"));
  CHECK(Has(Text(view), " deposit "));
  view.order = Order::kProgram;
  CHECK(Chosen(view)[0].key == "bbbbbbbb");
  view.order = Order::kKind;
  CHECK(Chosen(view)[0].key == "aaaaaaaa");
}

TEST_CASE("a wide screen has more room for the program and shows the toolchain") {
  View view = ViewOf({Running("aaaaaaaa", 1)});
  view.sample->activity.flights[0].program = "a_name_of_thirty_characters.cu";
  const std::string narrow = Joined(Layout(view, {24, 80}));
  CHECK(Has(narrow, "a_name_of_thirty_chara nvrtc"));
  CHECK_FALSE(Has(narrow, "TOOLCHAIN"));
  const std::string wide = Joined(Layout(view, {24, 140}));
  CHECK(Has(wide, "a_name_of_thirty_characters.cu"));
  CHECK(Has(wide, "13.0 00000000"));
}

TEST_CASE("a bar shows that something is in use or free, however little") {
  const auto drawn = [](double filled) {
    const std::vector<Span> bar = Bar(filled, 4, Role::kGood, false);
    return bar[0].text + bar[1].text;
  };
  CHECK(drawn(0) == "----");
  CHECK(drawn(0.01) == "#---");
  CHECK(drawn(0.5) == "##--");
  CHECK(drawn(0.99) == "###-");
  CHECK(drawn(1) == "####");
  CHECK(drawn(7) == "####");
  CHECK(Bar(1, 1, Role::kGood, true)[0].text == "\u2588");
}

TEST_CASE("running, waiting and failed builds have different roles") {
  View view = ViewOf({Running("aaaaaaaa", 1), Running("bbbbbbbb", 1)});
  view.sample->activity.flights[1].state = "queued";
  view.problem = "no daemon";
  view.sample->activity.failures = {{0, "nvrtc", 1000, "", "an error"}};
  std::map<std::string, Role> roles;
  for (const Line& line : Layout(view, {24, 80})) {
    for (const Span& span : line.spans) roles[span.text] = span.role;
  }
  CHECK(roles.at("running ") == Role::kGood);
  CHECK(roles.at("queued  ") == Role::kWarning);
  CHECK(roles.at("no daemon") == Role::kBad);
  CHECK(roles.at("an error") == Role::kBad);
}

TEST_CASE("a filter that hides all rows is not taken for an idle daemon") {
  View view = ViewOf({Running("aaaaaaaa11", 1)});
  view.filter = "bbb";
  const std::string text = Joined(Layout(view, {24, 80}));
  CHECK(Has(text, "no row has \"bbb\""));
  CHECK_FALSE(Has(text, "nothing is built"));
  CHECK(Has(Joined(Layout(ViewOf({}), {24, 80})), "nothing is built"));
}

TEST_CASE("any screen size works, and the text stays within it") {
  View view = ViewOf(std::vector<Flight>(50, Running("aaaaaaaa", 1)));
  view.problem = std::string(500, 'p');
  view.sample->activity.failures.resize(20, {0, "nvrtc", 1000, "", std::string(500, '\xe9')});
  for (const size_t rows : {0, 1, 2, 5, 10, 24, 200}) {
    for (const size_t columns : {0, 1, 8, 40, 300}) {
      const std::vector<Line> lines = Layout(view, {rows, columns});
      CHECK(lines.size() == rows);
      CHECK(std::ranges::all_of(lines,
                                [&](const auto& each) { return Width(each.text()) <= columns; }));
    }
  }
}

TEST_CASE("a screen of 40 columns and 10 rows shows a flight and the keys") {
  View view = ViewOf({Running("0123456789", 2.5, 7)});
  const std::vector<Line> lines = Layout(view, {10, 40});
  CHECK(Has(Joined(lines), "running 2.5s           7 1000     sort.c"));
  CHECK(lines.back().text().starts_with("q quit"));
  CHECK_FALSE(Has(Joined(lines), "LAST ERRORS"));
  CHECK(Has(Joined(Layout(view, {24, 80})), "LAST ERRORS"));
}

TEST_CASE("the selected flight is marked and always visible") {
  std::vector<Flight> flights;
  for (int i = 0; i < 50; ++i) flights.push_back(Running("key" + std::to_string(10 + i), 1));
  View view = ViewOf(flights);
  view.selected = {"key59", 1000};
  const std::vector<Line> lines = Layout(view, {10, 80});
  const auto marked = std::ranges::find(lines, true, &Line::selected);
  REQUIRE(marked != lines.end());
  CHECK(Has(marked->text(), "key59"));
}

TEST_CASE("each row can be selected, even if two users build the same key") {
  View view = ViewOf({Running("same", 1), Running("same", 2), Running("other", 3)});
  view.sample->activity.flights[1].uid = 1001;
  std::vector<RowId> selected;
  for (const int by : {1, 1, 1, 1, -1, -1, -1}) {
    MoveSelection(view, by);
    selected.push_back(*view.selected);
    const std::vector<Line> lines = Layout(view, {24, 80});
    CHECK(std::ranges::count(lines, true, &Line::selected) == 1);
  }
  const RowId first{"same", 1000};
  const RowId second{"same", 1001};
  const RowId third{"other", 1000};
  CHECK(selected == std::vector{first, second, third, third, second, first, first});
}

TEST_CASE("control characters in the daemon's texts do not reach the terminal") {
  View view = ViewOf({Running("\x1b[2J", 1)});
  view.sample->stats.version = "\x1b]0;x\x07";
  view.sample->activity.flights[0].kind = "\u009b31m";
  view.sample->activity.flights[0].program = "\x1b[1m\n";
  view.sample->activity.failures = {{0, "\x1b", 1000, "", "a\x1b[31mb"}};
  view.page = {};
  for (const std::string& text : {Joined(Layout(view, {24, 80})), Text(view)}) {
    CHECK_FALSE(Has(text, "\x1b"));
    CHECK_FALSE(Has(text, "\u009b"));
    CHECK(Has(text, "a?[31mb"));
  }
}

TEST_CASE("an open page replaces the flights, with long lines broken") {
  View view = ViewOf({Running("aaaaaaaa", 1)});
  view.page = {"one two", std::string(50, 'x'), std::string(38, 'y') + " zzz"};
  const std::string text = Joined(Layout(view, {24, 40}));
  CHECK(Has(text, "one two\n" + std::string(40, 'x') + "\n" + std::string(10, 'x') + "\n"));
  CHECK(Has(text, std::string(38, 'y') + "\nzzz\n"));
  CHECK_FALSE(Has(text, "aaaaaaaa"));
}

TEST_CASE("a page scrolls to its end, and no further") {
  View view = ViewOf({});
  const Size size = {10, 40};
  for (int i = 0; i < 20; ++i) view.page.push_back("line" + std::to_string(10 + i));
  view.page.push_back(std::string(38, 'y') + " end");
  CHECK_FALSE(Has(Joined(Layout(view, size)), "end"));
  for (int i = 0; i < 30; ++i) ScrollPage(view, 1, size);
  CHECK(Has(Joined(Layout(view, size)), "line29\n" + std::string(38, 'y') + "\nend\nq quit"));
  ScrollPage(view, -1, size);
  CHECK_FALSE(Has(Joined(Layout(view, size)), "end"));
  for (int i = 0; i < 30; ++i) ScrollPage(view, -1, size);
  CHECK(Has(Joined(Layout(view, size)), "line10"));
  CHECK(ScrollPage(view, 1, size));
  view.page = {"one line"};
  CHECK_FALSE(ScrollPage(view, 1, size));
}

TEST_CASE("top --once prints the present state, or a JSON object with --json") {
  const FreshLibrary fresh;
  Library().flights = {{.key = "0123456789", .waiters = 2}};
  Library().compile_errors = {"k.cu(1): error"};
  Library().statistics = {{"hits_total", "memory", 1}, {"compiles_total", "", 1}};
  const Said text = RunCommand({"top", "--once"});
  CHECK(text.exit_code == kDone);
  CHECK(Has(text.output, "running 2.5s/4s        2 "));
  CHECK(Has(text.output, "k.cu(1): error"));
  CHECK(Has(text.output, "sort.cu"));
  const Said json = RunCommand({"--json", "top"});
  CHECK(Has(json.output, "\"key\": \"0123456789\""));
  CHECK(Has(json.output, "\"program\": \"sort.cu\""));
  CHECK(Has(json.output, "\"estimate_seconds\": 4"));
}

TEST_CASE("top --once ends with the error's exit code") {
  const FreshLibrary fresh;
  const char* const function = GENERATE("activity", "stats");
  Library().failures = {{function, CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"top", "--once"}).exit_code == kNoDaemon);
}

}  // namespace
}  // namespace cccl_cache::cli::top::top_model_test

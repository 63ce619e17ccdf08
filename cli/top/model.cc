// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/top/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"
#include "proto/container_users.h"

namespace cccl_cache::cli::top {
namespace {

constexpr size_t kMinute = 60;
constexpr size_t kShownKey = 8;
/// On a screen with fewer rows, queues, zygotes (processes that fork compile jobs) and failures are
/// not shown.
constexpr size_t kSmall = 14;
constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

double Seconds(uint64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

std::string ShortDuration(uint64_t milliseconds) {
  const double seconds = Seconds(milliseconds);
  constexpr double kTooLong = 1000;
  if (seconds >= kTooLong) return Number(std::floor(seconds / 60)) + "m";
  return Number(std::round(10 * seconds) / 10) + "s";
}

/// Returns the time of the running compile, and the mean of earlier similar compiles if it is
/// known, such as "2.9s/2.5s".
std::string TimeOf(const Flight& flight) {
  const std::string running = flight.state == "queued" ? "-" : ShortDuration(flight.running_ms);
  return flight.estimate_ms > 0 ? running + "/" + ShortDuration(flight.estimate_ms) : running;
}

struct Column {
  size_t width;
  bool to_the_right = false;
};
// On a terminal with 40 columns, the first five are visible.
constexpr std::array<Column, 8> kColumns = {
    {{7}, {11}, {4, true}, {6, true}, {8}, {12}, {7, true}, {16}}};
using Cells = std::array<std::string, kColumns.size()>;

/// Returns the uid, or for a user of a container a short name such as "c3".
std::string UserOf(uint32_t uid) {
  return uid < kFirstContainerUser ? std::to_string(uid)
                                   : "c" + std::to_string(uid - kFirstContainerUser);
}

Cells CellsOf(const Flight& flight) {
  return {flight.state,
          TimeOf(flight),
          std::to_string(flight.waiters),
          UserOf(flight.uid),
          flight.key.substr(0, kShownKey),
          flight.kind,
          ShortDuration(flight.age_ms),
          flight.toolchain};
}

std::string Row(const Cells& cells) {
  std::string row;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell(Cut(Printable(cells[i]), kColumns[i].width));
    const std::string blanks(kColumns[i].width - std::min(kColumns[i].width, cell.size()), ' ');
    row += (i == 0 ? "" : " ") + (kColumns[i].to_the_right ? blanks + cell : cell + blanks);
  }
  return row;
}

bool Has(const Flight& flight, std::string_view text) {
  const Cells cells = CellsOf(flight);
  return flight.key.starts_with(text) ||
         std::ranges::any_of(cells, [text](const std::string& cell) {
           return cell.find(text) != std::string::npos;
         });
}

/// Breaks a long line into several, if possible at spaces.
std::vector<std::string_view> Broken(std::string_view text, size_t columns) {
  std::vector<std::string_view> lines;
  while (true) {
    size_t end = Cut(text, columns).size();
    const size_t blank = end < text.size() ? text.rfind(' ', end) : 0;
    if (blank != std::string_view::npos && blank > 0) end = blank;
    lines.push_back(text.substr(0, end));
    if (end == 0 || end == text.size()) return lines;
    text.remove_prefix(end + (text[end] == ' ' ? 1 : 0));
  }
}

class Page {
 public:
  explicit Page(const Size& size) : size_(size) {}

  void Add(std::string_view text, Look look = Look::kPlain) {
    if (lines_.size() < size_.rows) {
      lines_.push_back({std::string(Cut(Printable(text), size_.columns)), look});
    }
  }
  void AddWhole(std::string_view text, Look look = Look::kPlain) {
    for (const std::string_view line : Broken(text, size_.columns)) Add(line, look);
  }
  [[nodiscard]] size_t left() const { return size_.rows - lines_.size(); }
  [[nodiscard]] std::vector<Line> Take() { return std::move(lines_); }

 private:
  const Size size_;
  std::vector<Line> lines_;
};

std::string HitRate(const View& view, size_t columns) {
  const std::optional<double> rate = view.rates.OfLastMinute();
  const std::string text = "hits in the last minute " + (rate ? Fixed(100 * *rate, "%") : "-");
  const size_t room = columns - std::min(columns, text.size() + 1);
  return text + " " + view.rates.Sparkline(std::min(room, kMinute), view.utf8);
}

void AddHead(const View& view, Page& page) {
  if (!view.sample) return page.Add("cccl-cached at " + view.socket, Look::kTitle);
  const auto& [totals, stats] = *view.sample;
  page.Add("cccl-cached " + stats.version + ", up " + Duration(stats.Sum("uptime_seconds")),
           Look::kTitle);
  page.Add("slots " + Count(totals.running) + "/" + Count(totals.slots) + ", queued " +
           Count(totals.queued) + ", waiting " + Count(totals.waiting));
}

/// Returns the lines above the table. One row of the screen is kept free for the line about keys.
Page HeadOf(const View& view, const Size& size) {
  Page page({size.rows - 1, size.columns});
  if (!view.problem.empty()) page.AddWhole(view.problem, Look::kBad);
  AddHead(view, page);
  if (view.sample) page.Add(HitRate(view, size.columns));
  return page;
}

std::vector<std::string_view> PageLines(const View& view, size_t columns) {
  std::vector<std::string_view> lines;
  for (const std::string& line : view.page) {
    for (const std::string_view part : Broken(line, columns)) lines.push_back(part);
  }
  return lines;
}

/// Returns the number of entries from Redis that were refused, for all reasons together.
double Refused(const Statistics& stats) {
  double sum = 0;
  for (const std::string_view reason : kRefusals) {
    sum += stats.Sum("remote_" + std::string(reason) + "_total");
  }
  return sum;
}

void AddRemote(const View& view, Page& page) {
  const Statistics& stats = view.sample->stats;
  const std::string& problem = stats.remote.problem;
  if (stats.remote.address.empty()) return;
  const double connected = stats.Sum("remote_nodes_connected");
  if (!problem.empty() && connected == 0) {
    return page.AddWhole("remote  not connected: " + problem, Look::kBad);
  }
  const auto lately = view.remote_rates.ServedInLastMinute();
  const auto count = [&stats](const char* name) { return Count(stats.Sum(name)); };
  const std::string of_nodes = Count(connected) + " of " + count("remote_nodes") + " nodes ";
  page.AddWhole("remote  " + (problem.empty() ? "" : of_nodes) + "connected, " +
                Many(stats.Sum("hits_total", "remote"), "hit") +
                (lately ? " (" + Count(*lately) + " in the last minute)" : "") + ", " +
                count("remote_lookups_total") + " lookups, " + count("remote_late_total") +
                " late, " + Count(Refused(stats)) + " refused, outbox " +
                Bytes(stats.Sum("remote_unwritten_bytes")) + ", " +
                Many(stats.Sum("remote_leases_held"), "lease"));
  if (!problem.empty()) page.AddWhole("        " + problem, Look::kBad);
}

void AddNamespaces(const std::vector<NamespaceUses>& namespaces, Page& page) {
  std::string text;
  for (const NamespaceUses& each : namespaces) {
    text += (text.empty() ? "" : "; ") + each.name + " " + Many(each.hits, "hit") + ", " +
            Count(each.joined) + " joined, " + Count(each.made) + " made, saved " +
            Duration(Seconds(each.saved_ms));
  }
  if (!text.empty()) page.AddWhole("steps   " + text);
}

void AddParts(const View& view, Page& page) {
  const Activity& now = view.sample->activity;
  std::string users;
  for (const UserQueue& each : now.users) {
    users += (users.empty() ? "" : ", ") + each.user + " (" + Count(each.running) + " running, " +
             Count(each.queued) + " queued)";
  }
  page.Add("users   " + (users.empty() ? "none" : users));
  std::string zygotes;
  uint64_t bytes = 0;
  for (const Zygote& each : now.zygotes) {
    bytes += each.resident_bytes;
    zygotes += ", " + each.toolchain + " (" + Count(each.jobs) + " jobs" +
               (each.user.empty() ? ")" : ", only " + each.user + ")");
  }
  page.Add("zygotes " + Bytes(bytes) + zygotes);
  page.Add("headers " + Bytes(now.preamble_bytes) + ", " + Count(now.preambles) + " precompiled");
  const uint64_t limit = now.compile_memory_limit_bytes;
  page.Add("memory  " + Bytes(now.compile_memory_bytes) + " expected" +
           (limit == 0 ? "" : " of " + Bytes(limit)) + ", " + Count(now.waiting_for_memory) +
           " compiles wait for it");
  AddNamespaces(now.namespaces, page);
  AddRemote(view, page);
}

/// Returns the index of the selected build in `flights`, or none if it is not in the list.
std::optional<size_t> SelectedOf(const std::vector<Flight>& flights,
                                 const std::optional<RowId>& selected) {
  const auto found = std::ranges::find_if(flights, [&](const Flight& each) {
    return selected == RowId{each.key, each.uid};
  });
  if (found == flights.end()) return std::nullopt;
  return static_cast<size_t>(found - flights.begin());
}

void AddFlights(const View& view, size_t rows, Page& page) {
  page.Add(Row({"STATE", "TIME", "WAIT", "UID", "KEY", "KIND", "AGE", "TOOLCHAIN"}), Look::kTitle);
  const std::vector<Flight> flights =
      Chosen(view.sample->activity.flights, view.order, view.filter);
  const std::optional<size_t> selected = SelectedOf(flights, view.selected);
  const size_t room = rows - std::min<size_t>(rows, 1);
  // Begins with a later row if the selected row would otherwise be below the screen.
  const size_t first = selected.value_or(0) < room ? 0 : *selected - room + 1;
  for (size_t i = first; i < flights.size() && i - first < room; ++i) {
    page.Add(Row(CellsOf(flights[i])), i == selected ? Look::kSelected : Look::kPlain);
  }
  const uint64_t more = view.sample->activity.more_flights;
  if (flights.empty()) {
    const bool hidden = !view.sample->activity.flights.empty();
    page.Add(hidden ? "no row has \"" + view.filter + "\"" : "nothing is built now", Look::kFaint);
  }
  if (more > 0) page.Add("and " + Count(more) + " more", Look::kFaint);
}

void AddFailures(const std::vector<Failure>& failures, Page& page) {
  if (page.left() < 2) return;
  page.Add("LAST ERRORS", Look::kTitle);
  if (failures.empty()) page.Add("none", Look::kFaint);
  for (const Failure& each : failures) {
    page.Add(LocalTime(each.time_ms / 1000, "%H:%M:%S") + " " + each.kind + " " + UserOf(each.uid) +
             " " + each.error);
  }
}

std::string Keys(const View& view) {
  if (view.typing) return "filter: " + view.filter + "_";
  std::string keys = "q quit  s sort:" + std::string(NameOf(view.order)) + "  / filter";
  if (!view.filter.empty()) keys += ":" + view.filter;
  return keys + "  e explain  ? help";
}

}  // namespace

std::string Json(const Sample& sample) {
  const auto& [now, stats] = sample;
  JsonWriter json = BeginAnswer();
  json.Fields("version", stats.version, "uptime_seconds", stats.Sum("uptime_seconds"), "slots",
              now.slots, "running", now.running, "queued", now.queued, "waiting", now.waiting,
              "preambles", now.preambles, "preamble_bytes", now.preamble_bytes,
              "compile_memory_bytes", now.compile_memory_bytes, "compile_memory_limit_bytes",
              now.compile_memory_limit_bytes, "waiting_for_memory", now.waiting_for_memory);
  json.Key("flights").BeginArray();
  for (const Flight& each : now.flights) {
    json.BeginObject().Fields("key", each.key, "kind", each.kind, "toolchain", each.toolchain,
                              "state", each.state, "waiters", each.waiters, "age_seconds",
                              Seconds(each.age_ms), "running_seconds", Seconds(each.running_ms),
                              "estimate_seconds", Seconds(each.estimate_ms), "uid", each.uid);
    json.EndObject();
  }
  json.EndArray().Fields("more_flights", now.more_flights).Key("users").BeginArray();
  for (const auto& [user, queued, running] : now.users) {
    json.BeginObject().Fields("user", user, "queued", queued, "running", running).EndObject();
  }
  json.EndArray().Key("zygotes").BeginArray();
  for (const auto& [toolchain, bytes, jobs, user] : now.zygotes) {
    json.BeginObject().Fields("toolchain", toolchain, "resident_bytes", bytes, "jobs", jobs);
    json.Fields("user", user).EndObject();
  }
  json.EndArray().Key("namespaces").BeginArray();
  for (const auto& [name, hits, joined, made, read_bytes, saved_ms] : now.namespaces) {
    json.BeginObject().Fields("namespace", name, "hits", hits, "joined", joined, "made", made,
                              "read_bytes", read_bytes, "saved_seconds", Seconds(saved_ms));
    json.EndObject();
  }
  json.EndArray().Key("failures").BeginArray();
  for (const auto& [time_ms, kind, uid, key, error] : now.failures) {
    json.BeginObject().Fields("time_ms", time_ms, "kind", kind, "uid", uid, "key", key, "error",
                              error);
    json.EndObject();
  }
  json.EndArray();
  if (const auto& [address, problem] = stats.remote; !address.empty()) {
    const double connected = stats.Sum("remote_nodes_connected");
    json.Key("remote").BeginObject().Fields(
        "connected", problem.empty() || connected > 0, "nodes", stats.Sum("remote_nodes"),
        "nodes_connected", connected, "problem", problem, "hits", stats.Sum("hits_total", "remote"),
        "lookups", stats.Sum("remote_lookups_total"), "late", stats.Sum("remote_late_total"),
        "refused", Refused(stats), "outbox_bytes", stats.Sum("remote_unwritten_bytes"), "leases",
        stats.Sum("remote_leases_held"));
    json.EndObject();
  }
  return json.EndObject().Finish();
}

void HitRates::Add(double time, double served, double compiled) {
  if (!totals_.empty() && (time < totals_.back().time || served < totals_.back().served ||
                           compiled < totals_.back().compiled)) {
    totals_.clear();
  }
  totals_.push_back({time, served, compiled});
  while (totals_.front().time < time - static_cast<double>(kMinute)) totals_.pop_front();
}

std::optional<double> HitRates::OfLastMinute() const {
  if (totals_.empty()) return std::nullopt;
  const double served = totals_.back().served - totals_.front().served;
  const double all = served + totals_.back().compiled - totals_.front().compiled;
  return all > 0 ? std::optional(served / all) : std::nullopt;
}

std::optional<double> HitRates::ServedInLastMinute() const {
  if (totals_.size() < 2) return std::nullopt;
  return totals_.back().served - totals_.front().served;
}

std::string HitRates::Sparkline(size_t times, bool utf8) const {
  constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kAscii = {"_", ".", "-", "~", "=", "+", "*", "#"};
  const size_t shown = std::min(times, totals_.size() - std::min<size_t>(totals_.size(), 1));
  std::string line;
  for (size_t i = totals_.size() - shown; shown > 0 && i < totals_.size(); ++i) {
    const double served = totals_[i].served - totals_[i - 1].served;
    const double all = served + totals_[i].compiled - totals_[i - 1].compiled;
    const auto level = static_cast<size_t>(all > 0 ? std::round(7 * served / all) : 0);
    line += all <= 0 ? " " : (utf8 ? kBlocks : kAscii)[level];
  }
  return line;
}

const char* NameOf(Order order) {
  constexpr std::array<const char*, 5> kNames = {"state", "time", "waiters", "uid", "kind"};
  return kNames[static_cast<size_t>(order)];
}

Order Next(Order order) {
  return order == Order::kKind ? Order::kState : static_cast<Order>(static_cast<int>(order) + 1);
}

std::vector<Flight> Chosen(std::vector<Flight> flights, Order order, std::string_view filter) {
  std::erase_if(flights, [filter](const Flight& each) { return !Has(each, filter); });
  // For Order::kState, the daemon's order is kept.
  if (order == Order::kTime) std::ranges::stable_sort(flights, std::greater{}, &Flight::running_ms);
  if (order == Order::kWaiters) std::ranges::stable_sort(flights, std::greater{}, &Flight::waiters);
  if (order == Order::kUser) std::ranges::stable_sort(flights, {}, &Flight::uid);
  if (order == Order::kKind) std::ranges::stable_sort(flights, {}, &Flight::kind);
  return flights;
}

void MoveSelection(View& view, int by) {
  if (!view.sample) return;
  const std::vector<Flight> flights =
      Chosen(view.sample->activity.flights, view.order, view.filter);
  if (flights.empty()) return;
  const std::optional<size_t> selected = SelectedOf(flights, view.selected);
  const int from = selected ? static_cast<int>(*selected) : -std::max(by, 0);
  const int last = static_cast<int>(flights.size()) - 1;
  const Flight& to = flights[static_cast<size_t>(std::clamp(from + by, 0, last))];
  view.selected = {to.key, to.uid};
}

bool ScrollPage(View& view, int by, const Size& size) {
  if (size.rows == 0) return true;
  const size_t lines = PageLines(view, size.columns).size();
  const size_t last = lines - std::min(lines, HeadOf(view, size).left());
  const auto top = static_cast<std::ptrdiff_t>(std::min(view.page_top, last)) + by;
  view.page_top = std::min(static_cast<size_t>(std::max<std::ptrdiff_t>(top, 0)), last);
  return last > 0;
}

std::vector<Line> Layout(const View& view, const Size& size) {
  if (size.rows == 0) return {};
  const size_t above_keys = size.rows - 1;
  Page page = HeadOf(view, size);
  const bool small = size.rows < kSmall;
  if (!view.page.empty()) {
    const std::vector<std::string_view> lines = PageLines(view, size.columns);
    const size_t top = std::min(view.page_top, lines.size() - std::min(lines.size(), page.left()));
    for (size_t i = top; i < lines.size(); ++i) page.Add(lines[i]);
  } else if (view.sample) {
    if (!small) AddParts(view, page);
    AddFlights(view, small ? page.left() : page.left() - page.left() / 3, page);
    if (!small) AddFailures(view.sample->activity.failures, page);
  }
  std::vector<Line> lines = page.Take();
  lines.resize(above_keys);
  lines.push_back({std::string(Cut(Printable(Keys(view)), size.columns)), Look::kFaint});
  return lines;
}

std::string Text(const View& view) {
  Page page({kUnlimited, kUnlimited});
  AddHead(view, page);
  AddParts(view, page);
  AddFlights(view, kUnlimited, page);
  AddFailures(view.sample->activity.failures, page);
  std::string text;
  for (const Line& line : page.Take()) {
    text += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace cccl_cache::cli::top

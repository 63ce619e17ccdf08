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
#include "cli/terminal/user_names.h"

namespace cccl_cache::cli::top {
namespace {

/// On a screen with fewer rows, queues, zygotes (processes that fork compile jobs) and failures are
/// not shown.
constexpr size_t kSmall = 14;
constexpr size_t kShownKey = 8;
constexpr size_t kLabel = 8;  // width of the words before the lines above the table
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

/// The text of a flight in one column of the table.
struct Column {
  const char* head;
  size_t width;
  bool to_the_right = false;
  Role role = Role::kPlain;
};
constexpr size_t kState = 0;
constexpr size_t kProgram = 4;  // takes the rest of the screen's width
constexpr std::array<Column, 9> kColumns = {{{"STATE", 7},
                                             {"TIME", 11},
                                             {"WAIT", 4, true},
                                             {"USER", 8, false, Role::kName},
                                             {"PROGRAM", 12},
                                             {"KIND", 7},
                                             {"KEY", kShownKey, false, Role::kFaint},
                                             {"AGE", 6, true},
                                             {"TOOLCHAIN", 13, false, Role::kFaint}}};
using Cells = std::array<std::string, kColumns.size()>;

Cells HeadsOfColumns() {
  Cells heads;
  std::ranges::transform(kColumns, heads.begin(), &Column::head);
  return heads;
}

// The kind of a deposit is the namespace, which names the program that makes it.
bool IsDeposit(const Flight& flight) { return flight.state == "leased"; }
std::string ProgramOf(const Flight& flight) {
  return IsDeposit(flight) ? flight.kind : flight.program;
}
std::string KindOf(const Flight& flight) { return IsDeposit(flight) ? "deposit" : flight.kind; }

Cells CellsOf(const Flight& flight, const NameOfUser& name_of) {
  return {flight.state,
          TimeOf(flight),
          std::to_string(flight.waiters),
          name_of(UserLabel(flight.uid)),
          ProgramOf(flight),
          KindOf(flight),
          flight.key.substr(0, kShownKey),
          ShortDuration(flight.age_ms),
          flight.toolchain};
}

Role RoleOf(const std::string& state) { return state == "queued" ? Role::kWarning : Role::kGood; }

/// Returns the width of the column PROGRAM on a screen with so many columns.
size_t WidthOfProgram(size_t columns) {
  constexpr size_t kLeast = 12;
  constexpr size_t kMost = 40;
  if (columns == kUnlimited) return kMost;
  size_t others = 0;
  for (const Column& each : kColumns) others += each.width + 1;
  // Without room for a useful name, the toolchain is left out.
  others -= kColumns[kProgram].width + 1;
  if (columns < others + kLeast) others -= kColumns.back().width + 1;
  return std::clamp(columns - std::min(columns, others), kLeast, kMost);
}

/// Returns the spans of one row. Each column has its role, unless all of the row has `role`.
std::vector<Span> Row(const Cells& cells, size_t columns, std::optional<Role> role = {}) {
  std::vector<Span> row;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Column& column = kColumns[i];
    const size_t width = i == kProgram ? WidthOfProgram(columns) : column.width;
    const std::string cell(Cut(Printable(cells[i]), width));
    const std::string blanks(width - Width(cell), ' ');
    const Role own = i == kState ? RoleOf(cells[i]) : column.role;
    row.push_back(
        {(column.to_the_right ? blanks + cell : cell + blanks) + " ", role.value_or(own)});
  }
  return row;
}

bool Has(const Flight& flight, const View& view) {
  const Cells cells = CellsOf(flight, view.name_of);
  return flight.key.starts_with(view.filter) ||
         std::ranges::any_of(cells, [&view](const std::string& cell) {
           return cell.find(view.filter) != std::string::npos;
         });
}

/// Returns the width of a bar on a screen with so many columns; 0 if there is no room for one.
size_t WidthOfBar(size_t columns) {
  constexpr size_t kNarrow = 60;
  constexpr size_t kWide = 110;
  return columns < kNarrow ? 0 : columns < kWide ? 12 : 24;
}

/// Adds a line with a label, a bar and a text. Without a limit, the line has no bar.
void AddWithBar(const std::string& label, double used, double limit, const std::string& text,
                const View& view, Page& page) {
  constexpr double kNearlyFull = 0.9;
  std::vector<Span> line = {{label}};
  const size_t width = limit > 0 ? WidthOfBar(page.size().columns) : 0;
  if (width > 0) {
    const Role role = used >= kNearlyFull * limit ? Role::kWarning : Role::kGood;
    for (Span& span : Bar(used / limit, width, role, view.utf8)) line.push_back(std::move(span));
    line.push_back({" "});
  }
  line.push_back({text});
  page.Add(std::move(line));
}

void AddHitRate(const View& view, Page& page) {
  constexpr size_t kMinute = 60;
  constexpr double kGoodRate = 0.8;
  const std::optional<double> rate = view.rates.OfLastMinute();
  const std::string number = rate ? Fixed(100 * *rate, "%") : "-";
  const std::string text = " in the last minute ";
  const size_t taken = kLabel + number.size() + text.size();
  const size_t room = page.size().columns - std::min(page.size().columns, taken);
  page.Add({{"hits    "},
            {number, rate >= kGoodRate ? Role::kGood : Role::kPlain},
            {text},
            {view.rates.Sparkline(std::min(room, kMinute), view.utf8), Role::kGood}});
}

void AddHead(const View& view, Page& page) {
  if (!view.sample) return page.Add("cccl-cached at " + view.socket, Role::kTitle);
  const auto& [now, stats] = *view.sample;
  page.Add("cccl-cached " + stats.version + ", up " + Duration(stats.Sum("uptime_seconds")),
           Role::kTitle);
  AddWithBar("slots   ", static_cast<double>(now.running), static_cast<double>(now.slots),
             Count(now.running) + " of " + Count(now.slots) + " compile, " + Count(now.queued) +
                 " queued, " + Many(now.waiting, "caller waits", "callers wait"),
             view, page);
}

/// Returns the lines above the table. One row of the screen is kept free for the line about keys.
Page HeadOf(const View& view, const Size& size) {
  Page page({size.rows - 1, size.columns});
  if (!view.problem.empty()) page.AddWhole(view.problem, Role::kBad);
  AddHead(view, page);
  if (view.sample) AddHitRate(view, page);
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
    return page.AddWhole("remote  not connected: " + problem, Role::kBad);
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
  if (!problem.empty()) page.AddWhole("        " + problem, Role::kBad);
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

void AddUsers(const View& view, Page& page) {
  std::vector<Span> line = {{"users   "}};
  for (const UserQueue& each : view.sample->activity.users) {
    if (line.size() > 1) line.push_back({", "});
    line.push_back({view.name_of(each.user), Role::kName});
    const std::string running = each.running == 0 ? "" : Count(each.running) + " running";
    const std::string queued = each.queued == 0 ? "" : Count(each.queued) + " queued";
    const char* const comma = running.empty() || queued.empty() ? "" : ", ";
    line.push_back({" (" + running + comma + queued + ")"});
  }
  if (line.size() == 1) line.push_back({"none"});
  page.Add(std::move(line));
}

/// Adds a line about the processes that have loaded a compiler (zygotes), and precompiled headers.
void AddLoaded(const View& view, Page& page) {
  const Activity& now = view.sample->activity;
  std::string compilers;
  uint64_t bytes = 0;
  for (const Zygote& each : now.zygotes) {
    bytes += each.resident_bytes;
    compilers += (compilers.empty() ? ": CUDA " : ", ") + each.toolchain + " (" +
                 Many(each.jobs, "job") +
                 (each.user.empty() ? ")" : ", only " + view.name_of(each.user) + ")");
  }
  const std::string headers =
      now.preambles == 0 ? "" : "; precompiled headers " + Bytes(now.preamble_bytes);
  page.Add("loaded  " + Bytes(bytes) + compilers + headers);
}

void AddParts(const View& view, Page& page) {
  const Activity& now = view.sample->activity;
  const uint64_t limit = now.compile_memory_limit_bytes;
  AddWithBar("memory  ", static_cast<double>(now.compile_memory_bytes), static_cast<double>(limit),
             Bytes(now.compile_memory_bytes) + (limit == 0 ? "" : " of " + Bytes(limit)) +
                 " expected, " +
                 Many(now.waiting_for_memory, "compile waits for it", "compiles wait for it"),
             view, page);
  AddUsers(view, page);
  AddLoaded(view, page);
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
  const size_t columns = page.size().columns;
  page.Add(Row(HeadsOfColumns(), columns, Role::kTitle));
  const std::vector<Flight> flights = Chosen(view);
  const std::optional<size_t> selected = SelectedOf(flights, view.selected);
  const size_t room = rows - std::min<size_t>(rows, 1);
  // Begins with a later row if the selected row would otherwise be below the screen.
  const size_t first = selected.value_or(0) < room ? 0 : *selected - room + 1;
  for (size_t i = first; i < flights.size() && i - first < room; ++i) {
    const bool marked = i == selected;
    page.Add(Row(CellsOf(flights[i], view.name_of), columns,
                 marked ? std::optional(Role::kSelected) : std::nullopt),
             marked);
  }
  const uint64_t more = view.sample->activity.more_flights;
  if (flights.empty()) {
    const bool hidden = !view.sample->activity.flights.empty();
    page.Add(hidden ? "no row has \"" + view.filter + "\"" : "nothing is built now", Role::kFaint);
  }
  if (more > 0) page.Add("and " + Count(more) + " more", Role::kFaint);
}

void AddFailures(const View& view, Page& page) {
  constexpr size_t kUser = 8;
  constexpr size_t kKind = 6;
  const auto cell = [](const std::string& text, size_t width) {
    const std::string shown(Cut(Printable(text), width));
    return shown + std::string(width - Width(shown) + 1, ' ');
  };
  const std::vector<Failure>& failures = view.sample->activity.failures;
  if (page.left() < 3) return;
  page.Add("");
  if (failures.empty()) {
    return page.Add({{"LAST ERRORS ", Role::kTitle}, {"none", Role::kFaint}});
  }
  page.Add("LAST ERRORS", Role::kTitle);
  page.Add("TIME     " + cell("USER", kUser) + cell("KIND", kKind) + "ERROR", Role::kTitle);
  for (const Failure& each : failures) {
    page.Add({{LocalTime(each.time_ms / 1000, "%H:%M:%S") + " ", Role::kFaint},
              {cell(view.name_of(UserLabel(each.uid)), kUser), Role::kName},
              {cell(each.kind, kKind)},
              {each.error, Role::kBad}});
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
                              "estimate_seconds", Seconds(each.estimate_ms), "uid", each.uid,
                              "program", each.program);
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

const char* NameOf(Order order) {
  constexpr std::array kNames = {"state", "time", "waiters", "user", "program", "kind"};
  return kNames[static_cast<size_t>(order)];
}

Order Next(Order order) {
  return order == Order::kKind ? Order::kState : static_cast<Order>(static_cast<int>(order) + 1);
}

std::vector<Flight> Chosen(const View& view) {
  std::vector<Flight> flights = view.sample->activity.flights;
  std::erase_if(flights, [&view](const Flight& each) { return !Has(each, view); });
  // For Order::kState, the daemon's order is kept.
  const Order order = view.order;
  if (order == Order::kTime) std::ranges::stable_sort(flights, std::greater{}, &Flight::running_ms);
  if (order == Order::kWaiters) std::ranges::stable_sort(flights, std::greater{}, &Flight::waiters);
  if (order == Order::kUser) std::ranges::stable_sort(flights, {}, &Flight::uid);
  if (order == Order::kProgram) std::ranges::stable_sort(flights, {}, ProgramOf);
  if (order == Order::kKind) std::ranges::stable_sort(flights, {}, KindOf);
  return flights;
}

void MoveSelection(View& view, int by) {
  if (!view.sample) return;
  const std::vector<Flight> flights = Chosen(view);
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
    for (size_t i = top; i < lines.size(); ++i) page.Add(std::string(lines[i]));
  } else if (view.sample) {
    if (!small) AddParts(view, page);
    AddFlights(view, small ? page.left() : page.left() - page.left() / 3, page);
    if (!small) AddFailures(view, page);
  }
  std::vector<Line> lines = page.Take();
  lines.resize(above_keys);
  Page keys({1, size.columns});
  keys.Add(Keys(view), Role::kFaint);
  lines.push_back(keys.Take().front());
  return lines;
}

std::string Text(const View& view) {
  Page page({kUnlimited, kUnlimited});
  AddHead(view, page);
  AddParts(view, page);
  AddFlights(view, kUnlimited, page);
  AddFailures(view, page);
  std::string text;
  for (const Line& line : page.Take()) {
    const std::string whole = line.text();
    text += whole.substr(0, whole.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace cccl_cache::cli::top

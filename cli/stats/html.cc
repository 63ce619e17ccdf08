// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/stats/html.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/stats/rows.h"
#include "cli/terminal/quantities.h"
#include "cli/terminal/user_names.h"

namespace cccl_cache::cli {
namespace {

constexpr uint64_t kSecondsOfHour = 3600;

// The policy makes a browser load and run nothing, even if a text were not escaped.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cccl-cached</title>
<style>
:root{--page:#f6f8fa;--card:#fff;--text:#1f2328;--faint:#59636e;--line:#d1d9e0;--hit:#76b900;--found:#2f9e9e;--made:#e0852b;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--page:#0d1117;--card:#161b22;--text:#e6edf3;--faint:#9198a1;--line:#30363d;--bad:#ff7b72}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1060px;margin:0 auto;padding:28px 20px}
h1{font-size:22px;margin:0}h2{font-size:15px;margin:0 0 12px}
p{margin:2px 0;color:var(--faint)}.bad{color:var(--bad)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:14px;margin:20px 0 14px}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px 18px;margin-bottom:14px;overflow-x:auto}
.cards .card{margin:0}.card b{display:block;font-size:26px;font-weight:650;line-height:1.3}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(380px,1fr));gap:0 14px}
svg{display:block;width:100%;height:auto}svg text{font-size:11px;fill:var(--faint)}
.hit{fill:var(--hit);background:var(--hit)}.found{fill:var(--found);background:var(--found)}.made{fill:var(--made);background:var(--made)}
.key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 6px 0 14px}.key i:first-child{margin-left:0}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:5px 12px 5px 0;border-top:1px solid var(--line);white-space:nowrap}
th{color:var(--faint);font-weight:500;border-top:0}.n{text-align:right;font-variant-numeric:tabular-nums}td.wide{width:45%}
td i{display:block;height:12px;border-radius:2px;min-width:2px}code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:12px}
</style></head><body><main>
)";

std::string InHtml(std::string_view text) {
  std::string escaped;
  for (const char character : Printable(text)) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

std::string Card(const std::string& title, const std::string& figure, const std::string& below) {
  return "<div class=\"card\">" + title + "<b>" + InHtml(figure) + "</b><p>" + InHtml(below) +
         "</p></div>\n";
}

/// A table whose cells are escaped already. Columns from `first_number` on are right-aligned.
class Table {
 public:
  Table(const std::vector<std::string>& heads, size_t first_number) : first_number_(first_number) {
    AddRow(heads, "th");
  }
  void Add(const std::vector<std::string>& cells) { AddRow(cells, "td"); }
  [[nodiscard]] std::string Html() const { return "<table>" + rows_ + "</table>"; }

 private:
  void AddRow(const std::vector<std::string>& cells, const std::string& tag) {
    rows_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      rows_ +=
          "<" + tag + (i < first_number_ ? ">" : " class=\"n\">") + cells[i] + "</" + tag + ">";
    }
    rows_ += "</tr>\n";
  }

  const size_t first_number_;
  std::string rows_;
};

std::string Section(const std::string& title, const std::string& note, const std::string& body) {
  return "<section class=\"card\"><h2>" + title + "</h2>" + body +
         (note.empty() ? "" : "<p>" + note + "</p>") + "</section>\n";
}

/// One bar of a chart of bars.
struct Bar {
  std::string name;
  double value = 0;
  std::string shown;
  const char* kind = "hit";  ///< a class of the style sheet
};

/// Returns a table with a bar in each row. The longest bar comes first.
std::string Bars(std::vector<Bar> bars, const std::string& if_none) {
  std::erase_if(bars, [](const Bar& each) { return each.value <= 0; });
  if (bars.empty()) return "<p>" + if_none + "</p>";
  std::ranges::stable_sort(bars, std::greater{}, &Bar::value);
  std::string rows;
  for (const Bar& each : bars) {
    rows += "<tr><td>" + InHtml(each.name) + "</td><td class=\"wide\"><i class=\"" + each.kind +
            "\" style=\"width:" + Number(100 * each.value / bars.front().value) +
            "%\"></i></td><td class=\"n\">" + InHtml(each.shown) + "</td></tr>\n";
  }
  return "<table>" + rows + "</table>";
}

/// The counts of one hour.
struct HourOfUse {
  uint64_t begin_s = 0;
  double hits = 0;   ///< also joined builds
  double found = 0;  ///< deposits, also joined ones
  double made = 0;   ///< compiles, and deposits that a client made

  [[nodiscard]] double total() const { return hits + found + made; }
};

/// Returns the last 24 hours, or the last 48 if the daemon knows more than 24. Hours in which
/// nothing was counted have zeros.
std::vector<HourOfUse> HoursOf(const Statistics& stats, uint64_t now_s) {
  constexpr uint64_t kDay = 24;
  const uint64_t last = now_s / kSecondsOfHour;
  const bool longer =
      !stats.hours.empty() && stats.hours.front().begin_s / kSecondsOfHour + kDay <= last;
  const uint64_t count = longer ? 2 * kDay : kDay;
  std::vector<HourOfUse> hours(count);
  for (uint64_t i = 0; i < count; ++i) hours[i].begin_s = (last + 1 - count + i) * kSecondsOfHour;
  for (const HourlyStatistics& each : stats.hours) {
    const uint64_t back = last - std::min(last, each.begin_s / kSecondsOfHour);
    if (back >= count) continue;
    const auto sum = [&each](const char* name) { return SumOf(each.statistics, name); };
    HourOfUse& hour = hours[count - 1 - back];
    hour.hits += sum("hits_total") + sum("joins_total");
    hour.found += sum("deposit_hits_total") + sum("deposit_waits_total");
    hour.made += sum("compiles_total") + sum("deposits_total");
  }
  return hours;
}

/// Returns the chart of the hours as SVG.
std::string Chart(const std::vector<HourOfUse>& hours) {
  constexpr double kWidth = 960;
  constexpr double kHeight = 150;
  constexpr double kLeft = 56;
  constexpr double kRight = 14;  // for the half of the last label
  constexpr double kGap = 2;
  double most = 1;
  for (const HourOfUse& each : hours) most = std::max(most, each.total());
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(hours.size());
  std::string svg = "<svg viewBox=\"0 0 960 176\" role=\"img\" aria-label=\"hits by hour\">";
  svg += "<text x=\"48\" y=\"12\" text-anchor=\"end\">" + Count(most) + "</text>" +
         "<text x=\"48\" y=\"150\" text-anchor=\"end\">0</text>";
  for (size_t i = 0; i < hours.size(); ++i) {
    const HourOfUse& hour = hours[i];
    const double x = kLeft + step * static_cast<double>(i);
    const std::string time = LocalTime(hour.begin_s, "%H:00");
    svg += "<g><title>" + LocalTime(hour.begin_s, "%a %H:00") + ": " + Many(hour.hits, "hit") +
           ", " + Many(hour.found, "deposit") + " found, " + Count(hour.made) + " made</title>";
    double y = kHeight;
    for (const auto& [value, kind] :
         {std::pair(hour.hits, "hit"), {hour.found, "found"}, {hour.made, "made"}}) {
      if (value <= 0) continue;
      const double height = std::max(1.0, (kHeight - 4) * value / most);
      y -= height;
      svg += "<rect class=\"" + std::string(kind) + "\" x=\"" + Number(x) + "\" y=\"" + Number(y) +
             "\" width=\"" + Number(step - kGap) + "\" height=\"" + Number(height) + "\"/>";
    }
    svg += "</g>";
    const uint64_t every = hours.size() > 24 ? 6 : 3;
    const bool labelled = (hours.size() - 1 - i) % every == 0;
    if (labelled) {
      svg += "<text x=\"" + Number(x + step / 2) + "\" y=\"170\" text-anchor=\"middle\">" + time +
             "</text>";
    }
  }
  return svg +
         "</svg><p class=\"key\"><i class=\"hit\"></i>hits and joined builds"
         "<i class=\"found\"></i>deposits found<i class=\"made\"></i>compiled or made</p>";
}

std::string Head(const Statistics& stats, const HtmlContext& context) {
  const std::string away = stats.Has("remote_connected") && stats.Sum("remote_connected") == 0
                               ? "Redis is not connected"
                               : "";
  std::string head = "<h1>cccl-cached on " + InHtml(context.node) + "</h1><p>" +
                     LocalTime(context.now_s, "%A, %d %B %Y, %H:%M") + " · version " +
                     InHtml(stats.version) + " at " + InHtml(context.socket) + " · up " +
                     Duration(stats.Sum("uptime_seconds")) + "</p>\n";
  for (const std::string& problem : {context.problem, away}) {
    if (!problem.empty()) head += "<p class=\"bad\">" + InHtml(problem) + "</p>\n";
  }
  return head;
}

std::string Cards(const Statistics& stats) {
  const double deposits_found = stats.Sum("deposit_hits_total") + stats.Sum("deposit_waits_total");
  const double saved = stats.Sum("saved_seconds_total") + stats.Sum("deposit_saved_seconds_total");
  return "<div class=\"cards\">" +
         Card("Time saved", Duration(saved),
              Duration(stats.Sum("saved_seconds_total")) + " of builds, " +
                  Duration(stats.Sum("deposit_saved_seconds_total")) + " of deposits") +
         Card("Hit rate of builds", HitRate(stats),
              Many(stats.Sum("hits_total"), "hit") + ", " + Count(stats.Sum("joins_total")) +
                  " joined, " + Count(stats.Sum("compiles_total")) + " compiled") +
         Card("Deposits found", Count(deposits_found),
              Count(stats.Sum("deposits_total")) + " made by clients") +
         Card("Stored", Bytes(stats.Sum("bytes")), "of " + Bytes(stats.Sum("store_limit_bytes"))) +
         "</div>\n";
}

std::string Tiers(const Statistics& stats) {
  std::vector<Bar> bars;
  for (const auto& [tier, name] : {std::pair("memory", "memory of this node"),
                                   {"disk", "disk of this node"},
                                   {"shelf", "shelf"},
                                   {"remote", "Redis"}}) {
    const double hits = stats.Sum("hits_total", tier);
    bars.push_back({name, hits, Count(hits)});
  }
  const double joined = stats.Sum("joins_total");
  bars.push_back({"joined another's compile", joined, Count(joined)});
  return Section("Where hits came from", "", Bars(std::move(bars), "No hits yet."));
}

std::string Saved(const Statistics& stats) {
  std::vector<Bar> bars;
  for (const auto& [name, row] : NamespaceRows(stats)) {
    bars.push_back({name, row.saved_seconds, Duration(row.saved_seconds), "found"});
  }
  for (const auto& [kind, row] : RowsBy(stats, "kind")) {
    bars.push_back({"builds: " + kind, row.saved_seconds, Duration(row.saved_seconds)});
  }
  return Section("Time saved, by program",
                 "Since the daemon started. Programs that make deposits have a name of their own.",
                 Bars(std::move(bars), "Nothing was saved yet."));
}

std::string Dearest(const Statistics& stats, const HtmlContext& context) {
  if (stats.dearest.empty()) return Section("The longest compiles", "", "<p>None yet.</p>");
  Table table({"Program", "Kind", "Toolchain", "User", "Key", "When", "Compile time"}, 6);
  for (const DearCompile& each : stats.dearest) {
    constexpr size_t kShownKey = 8;
    const std::string time = each.compile_ms < 1000
                                 ? Count(each.compile_ms) + " ms"
                                 : Duration(static_cast<double>(each.compile_ms) / 1000);
    table.Add({InHtml(each.program), InHtml(each.kind), InHtml(each.toolchain),
               InHtml(context.name_of(UserLabel(each.uid))),
               "<code>" + InHtml(each.key.substr(0, kShownKey)) + "</code>",
               LocalTime(each.time_ms / 1000, "%a %H:%M"), time});
  }
  return Section("The longest compiles",
                 "Of the last compiles of each user, since the daemon started. "
                 "<code>cccl-cache-cli explain KEY</code> says why one was a miss.",
                 table.Html());
}

std::string Users(const Statistics& stats, const HtmlContext& context) {
  const Rows rows = RowsBy(stats, "user");
  if (rows.empty()) return "";
  Table table(
      {"User", "Builds", "Hits", "Compiled", "Failed", "Deposits found", "Compile time", "Saved"},
      1);
  for (const auto& [user, row] : rows) {
    table.Add({InHtml(context.name_of(user)), Count(row.builds), Count(row.hits + row.joined),
               Count(row.compiled), Count(row.failed + row.errors), Count(row.deposit_hits),
               Duration(row.compile_seconds), Duration(row.saved_seconds)});
  }
  return Section("Users",
                 "Since the daemon started. Administrators see all users, others themselves.",
                 table.Html());
}

}  // namespace

std::string StatsHtml(const Statistics& stats, const HtmlContext& context) {
  return std::string(kHead) + Head(stats, context) + Cards(stats) +
         Section("Hits by hour", "", Chart(HoursOf(stats, context.now_s))) + "<div class=\"two\">" +
         Saved(stats) + Tiers(stats) + "</div>\n" + Dearest(stats, context) +
         Users(stats, context) + "</main></body></html>\n";
}

}  // namespace cccl_cache::cli

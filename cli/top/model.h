// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/daemon_answers.h"

/// The contents of `top`'s screen, without a terminal. Texts are unescaped until Layout.
namespace cccl_cache::cli::top {

/// Identifies a row. The key alone does not: two users may build it at a time.
struct RowId {
  std::string key;
  uint32_t uid = 0;
  bool operator==(const RowId&) const = default;
};

/// The Redis that nodes share. Totals are since the statistics were set to zero.
struct Remote {
  std::string problem;   ///< why a node is not connected; empty: all are
  double nodes = 0;      ///< that have keys; 0: an older daemon
  double connected = 0;  ///< of these
  double hits = 0;
  double lookups = 0;
  double late = 0;
  double refused = 0;       ///< entries, for any reason
  double outbox_bytes = 0;  ///< of entries that wait to be written
  double leases = 0;        ///< compiles that this node makes for all now
};

/// One answer of the daemon.
struct Sample {
  std::string version;
  double uptime = 0;
  double served = 0;  ///< total of hits and joins
  double compiled = 0;
  Activity activity;
  std::optional<Remote> remote;  ///< none: no Redis is configured
};

[[nodiscard]] Sample Read(Activity activity, const Statistics& stats);
[[nodiscard]] std::string Json(const Sample& sample);

/// The share of builds that were served without a compile, over the last minute.
class HitRates {
 public:
  /// Adds the totals at a time, in seconds. Starts over if a total has sunk: it was set to zero.
  void Add(double time, double served, double compiled);
  /// Returns the rate from 0 to 1 of the last minute, or none if nothing was built.
  [[nodiscard]] std::optional<double> OfLastMinute() const;
  /// Returns the number served in the last minute, or none if it is not known yet.
  [[nodiscard]] std::optional<double> ServedInLastMinute() const;
  /// Returns a character for each of the last times, a blank where nothing was built.
  [[nodiscard]] std::string Sparkline(size_t times, bool utf8) const;

 private:
  struct Totals {
    double time;
    double served;
    double compiled;
  };
  std::deque<Totals> totals_;
};

/// The order of flights.
enum class Order : uint8_t { kState, kTime, kWaiters, kUser, kKind };
[[nodiscard]] const char* NameOf(Order order);
[[nodiscard]] Order Next(Order order);

/// Returns the flights that have the text in a column, in this order.
[[nodiscard]] std::vector<Flight> Chosen(std::vector<Flight> flights, Order order,
                                         std::string_view filter);

/// Everything that the screen shows.
struct View {
  std::string socket;
  std::optional<Sample> sample;  ///< the last one
  std::string problem;           ///< why there is no newer one; empty: there is
  HitRates rates;
  HitRates remote_rates;  ///< of lookups in Redis
  Order order = Order::kState;
  std::string filter;
  bool typing = false;  ///< the filter
  std::optional<RowId> selected;
  size_t page_top = 0;            ///< lines of the page above the screen, as they are broken there
  std::vector<std::string> page;  ///< shown in place of flights and failures; empty: those
  bool utf8 = false;              ///< what the terminal can show
};

enum class Look : uint8_t { kPlain, kTitle, kSelected, kFaint, kBad };

struct Line {
  std::string text;  ///< harmless for a terminal
  Look look = Look::kPlain;
};

struct Size {
  size_t rows;
  size_t columns;
};

/// Selects the row that is so many below the selected one, within the table.
void MoveSelection(View& view, int by);

/// Scrolls the page by so many lines, as far as there are lines. Returns false if all of it is
/// seen.
bool ScrollPage(View& view, int by, const Size& size);

/// Returns at most size.rows lines of at most size.columns characters. The most important lines
/// stay on a small screen.
[[nodiscard]] std::vector<Line> Layout(const View& view, const Size& size);

/// The same as plain text of any size, without the line about keys.
[[nodiscard]] std::string Text(const View& view);

}  // namespace cccl_cache::cli::top

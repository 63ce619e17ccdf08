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

/// The contents of `top`'s screen, without a terminal. Texts may hold control characters until
/// Layout.
namespace cccl_cache::cli::top {

/// Identifies a row. A key alone does not, because two users may build it at the same time.
struct RowId {
  std::string key;
  uint32_t uid = 0;
  bool operator==(const RowId&) const = default;
};

/// The daemon's answers at one time.
struct Sample {
  Activity activity;
  Statistics stats;
};

[[nodiscard]] std::string Json(const Sample& sample);

/// The share of builds without a compile, over the last minute.
class HitRates {
 public:
  /// Adds the totals at a time in seconds. Starts over if a total has decreased, as after a reset.
  void Add(double time, double served, double compiled);
  /// Returns the share from 0 to 1, or none if nothing was built.
  [[nodiscard]] std::optional<double> OfLastMinute() const;
  /// Returns the number of such builds in the last minute, or none before a minute has passed.
  [[nodiscard]] std::optional<double> ServedInLastMinute() const;
  /// Returns a character for each of the last times; a blank means that nothing was built.
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

/// Returns the flights with this text in a column, in this order.
[[nodiscard]] std::vector<Flight> Chosen(std::vector<Flight> flights, Order order,
                                         std::string_view filter);

/// Everything that the screen shows.
struct View {
  std::string socket;
  std::optional<Sample> sample;  ///< the newest that the daemon gave
  std::string problem;           ///< why there is no newer sample; empty: there is one
  HitRates rates;
  HitRates remote_rates;  ///< of lookups in Redis
  Order order = Order::kState;
  std::string filter;
  bool typing = false;  ///< the user is typing the filter
  std::optional<RowId> selected;
  size_t page_top = 0;            ///< number of the page's lines above the screen, counted after
                                  ///< long ones are broken
  std::vector<std::string> page;  ///< shown instead of flights and failures; empty: no page is open
  bool utf8 = false;              ///< the terminal can show UTF-8
};

enum class Look : uint8_t { kPlain, kTitle, kSelected, kFaint, kBad };

struct Line {
  std::string text;  ///< without control characters
  Look look = Look::kPlain;
};

struct Size {
  size_t rows;
  size_t columns;
};

/// Selects the row `by` rows below the selected one, within the table.
void MoveSelection(View& view, int by);

/// Scrolls the page by this many lines, up to its end. Returns false if the whole page is visible.
bool ScrollPage(View& view, int by, const Size& size);

/// Returns at most size.rows lines of at most size.columns characters. A small screen has the most
/// important lines.
[[nodiscard]] std::vector<Line> Layout(const View& view, const Size& size);

/// Returns the view as plain text of any size, without the line about keys.
[[nodiscard]] std::string Text(const View& view);

}  // namespace cccl_cache::cli::top

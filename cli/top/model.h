// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/daemon_answers.h"
#include "cli/terminal/user_names.h"
#include "cli/top/page.h"
#include "cli/top/rates.h"

/// The model of `top`: computes the contents of the screen without using a terminal. Texts may
/// contain control characters, which Layout() removes.
namespace cccl_cache::cli::top {

/// Identifies a row (a build in progress). The key alone is not enough, because two users may build
/// the same key at the same time.
struct RowId {
  std::string key;
  uint32_t uid = 0;
  bool operator==(const RowId&) const = default;
};

/// The daemon's answers to the requests of one moment.
struct Sample {
  Activity activity;
  Statistics stats;
};

[[nodiscard]] std::string Json(const Sample& sample);

/// The sort order of the rows (builds in progress, which the daemon calls flights).
enum class Order : uint8_t { kState, kTime, kWaiters, kUser, kProgram, kKind };
[[nodiscard]] const char* NameOf(Order order);
[[nodiscard]] Order Next(Order order);

/// All that the screen depends on.
struct View {
  std::string socket;
  std::optional<Sample> sample;  ///< the newest answers of the daemon; none before the first ones
  std::string problem;           ///< why the last request failed; empty if it succeeded
  HitRates rates;
  HitRates remote_rates;  ///< hit rates of the lookups in Redis
  Order order = Order::kState;
  std::string filter;
  bool typing = false;  ///< whether the user is typing the filter
  std::optional<RowId> selected;
  size_t page_top = 0;            ///< number of lines of the page above the screen, after long
                                  ///< lines were broken
  std::vector<std::string> page;  ///< text shown in place of the table; empty if no page is open
  bool utf8 = false;              ///< whether the terminal can show UTF-8
  NameOfUser name_of = [](const std::string& label) { return label; };
};

/// Returns the flights that have the text `filter` of the view in a column, in its sort order.
/// There must be a sample.
[[nodiscard]] std::vector<Flight> Chosen(const View& view);

/// Moves the selection down by `by` rows (up if negative), but not beyond the first or last row.
void MoveSelection(View& view, int by);

/// Scrolls the page down by `by` lines (up if negative), but not beyond its ends. Returns false if
/// the whole page is visible.
bool ScrollPage(View& view, int by, const Size& size);

/// Returns the lines of the screen: at most size.rows lines of at most size.columns characters. On
/// a small screen, less important lines are left out.
[[nodiscard]] std::vector<Line> Layout(const View& view, const Size& size);

/// Returns the same contents as plain text of any size, without the line about keys.
[[nodiscard]] std::string Text(const View& view);

}  // namespace cccl_cache::cli::top

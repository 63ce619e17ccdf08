// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command.h"

#include <langinfo.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <clocale>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "cccl_cache/client.h"
#include "cli/build_options.h"
#include "cli/terminal/style.h"
#include "cli/terminal/user_names.h"
#include "cli/top/model.h"
#include "cli/top/screen.h"

namespace cccl_cache::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kInterval{1};
/// Timeout of a request to the daemon. It is short, because no keys are read during the request.
constexpr std::chrono::seconds kPatience{2};

constexpr const char* kHelp =
    "q        quit\n"
    "s        sort by another column\n"
    "/        show only rows that have a text in a column; Enter ends it\n"
    "Up, k    select the row above, scroll a page\n"
    "Down, j  select the row below, scroll a page\n"
    "e        explain why the selected build is a miss\n"
    "Esc, ?   back\n"
    "\n"
    "slots    compiles that may run at a time\n"
    "memory   what running compiles are expected to need, of the limit\n"
    "loaded   processes that have loaded a compiler, and headers that were compiled ahead\n"
    "STATE    queued: waits for a slot or for memory; leased: a client makes it\n"
    "TIME     how long it runs / how long earlier compiles like it took\n"
    "WAIT     callers that wait for it\n"
    "USER     of the first of them\n"
    "PROGRAM  the name that this caller gave it; of a deposit, the program that makes it\n"
    "AGE      since the first of them came\n"
    "steps    deposits by the namespace of the programs that make them\n"
    "remote   the Redis that nodes share; outbox: waits to be written there;\n"
    "         leases: compiles that this node makes for all\n"
    "Administrators see all users, others themselves.";

Expected<top::Sample> Ask(Client& client) {
  Expected<Activity> activity = AskActivity(client, kPatience);
  if (!activity.ok()) return activity.error();
  const Expected<Statistics> stats = AskStatistics(client, kPatience);
  if (!stats.ok()) return stats.error();
  return top::Sample{*std::move(activity), *stats};
}

/// The interactive session of `top`, and its state.
class Session {
 public:
  Session(Client& client, top::Screen& screen, bool utf8) : client_(client), screen_(screen) {
    view_.socket = client.socket();
    view_.utf8 = utf8;
    view_.name_of = NamesOfThisSystem();
  }

  /// Runs the session. Returns when the user or a signal ends it.
  void Run() {
    auto next = Clock::now();
    while (true) {
      if (Clock::now() >= next) {
        Poll();
        // Set after the request, so that keys are read even if requests take longer than kInterval.
        next = Clock::now() + kInterval;
      }
      screen_.Show(Layout(view_, screen_.size()));
      const int key =
          screen_.ReadKey(std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()));
      if (key == top::Screen::kEnd) return;
      if (view_.typing) {
        Type(key);
      } else if (key == 'q') {
        return;
      } else {
        Press(key);
      }
    }
  }

 private:
  void Poll() {
    Expected<top::Sample> sample = Ask(client_);
    view_.problem = sample.ok() ? "" : sample.error().message;
    if (!sample.ok()) return;
    const Statistics& stats = sample->stats;
    const double uptime = stats.Sum("uptime_seconds");
    const double remote = stats.Sum("hits_total", "remote");
    view_.rates.Add(uptime, stats.Sum("hits_total") + stats.Sum("joins_total"),
                    stats.Sum("compiles_total"));
    view_.remote_rates.Add(uptime, remote, stats.Sum("remote_lookups_total") - remote);
    view_.sample = *std::move(sample);
  }

  void Type(int key) {
    constexpr size_t kMaxFilter = 64;
    std::string& filter = view_.filter;
    if (key == '\n' || key == '\r' || key == top::Screen::kEscape) {
      view_.typing = false;
    } else if (key == top::Screen::kErase && !filter.empty()) {
      // Removes the last character, which may have several bytes in UTF-8.
      while (filter.size() > 1 && (static_cast<unsigned char>(filter.back()) & 0xc0) == 0x80) {
        filter.pop_back();
      }
      filter.pop_back();
    } else if (key >= ' ' && filter.size() < kMaxFilter) {
      filter += static_cast<char>(key);
    }
  }

  void Press(int key) {
    switch (key) {
      case 's':
        view_.order = Next(view_.order);
        break;
      case '/':
        view_.filter.clear();
        view_.typing = true;
        break;
      case top::Screen::kUp:
      case 'k':
        Move(-1);
        break;
      case top::Screen::kDown:
      case 'j':
        Move(1);
        break;
      case 'e':
        Explain();
        break;
      case '?':
        ShowPage(view_.page.empty() ? kHelp : "");
        break;
      case top::Screen::kEscape:
        ShowPage("");
        break;
      default:
        break;
    }
  }

  void ShowPage(const std::string& text) {
    view_.page.clear();
    view_.page_top = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) view_.page.push_back(line);
  }

  /// If a page is open and longer than the screen, scrolls it by `by` lines. Otherwise closes the
  /// page and moves the selection by `by` rows.
  void Move(int by) {
    if (!view_.page.empty() && top::ScrollPage(view_, by, screen_.size())) return;
    ShowPage("");
    top::MoveSelection(view_, by);
  }

  void Explain() {
    if (!view_.selected) return ShowPage("select a build first: Up, Down");
    const Expected<Explanation> explanation = ExplainKey(client_, view_.selected->key, kPatience);
    ShowPage(explanation.ok() ? InWords(*explanation) : explanation.error().message);
  }

  Client& client_;
  top::Screen& screen_;
  top::View view_;
};

int RunTop(bool once, const CommonOptions& common) {
  std::setlocale(LC_CTYPE, "");
  const bool utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  if (once || common.json) {
    Expected<top::Sample> sample = Ask(*client);
    if (!sample.ok()) return Fail(sample.error(), common);
    if (common.json) return Print(top::Json(*sample));
    top::View view;
    view.utf8 = utf8;
    view.name_of = NamesOfThisSystem();
    view.sample = *std::move(sample);
    return Print(top::Text(view));
  }
  const Expected<std::unique_ptr<top::Screen>> screen =
      top::Screen::Open(WantsColour(STDOUT_FILENO));
  if (!screen.ok()) return FailUsage(screen.error().message, common);
  Session(*client, **screen, utf8).Run();
  return kDone;
}

}  // namespace

void AddTopCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "top", "Watch the daemon's activity: builds, waiters, queues, memory, errors");
  command->group("Daemon");
  command->footer(
      "Environment: NO_COLOR turns colours off.\n"
      "Example: cccl-cache-cli top");
  const auto once = std::make_shared<bool>(false);
  command->add_flag("--once", *once, "Print one screen as plain text, without a terminal");
  command->callback([once, &common, exit_code] { *exit_code = RunTop(*once, common); });
}

}  // namespace cccl_cache::cli

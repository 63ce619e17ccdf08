// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

constexpr std::chrono::milliseconds kPeriod{500};

size_t TerminalColumns() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string InSeconds(uint64_t milliseconds) {
  return Fixed(static_cast<double>(milliseconds) / 1000, "s");
}

}  // namespace

ProgressLine::ProgressLine() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const std::string& text) {
  if (std::chrono::steady_clock::now() - begin_ >= std::chrono::seconds(1)) Write(text);
}

void ProgressLine::Write(const std::string& text) {
  if (!on_terminal_ || (text.empty() && width_ == 0)) return;
  // The last column stays empty, because some terminals begin a new line after it.
  const size_t columns = TerminalColumns() - 1;
  const std::string printable = Printable(text);
  const std::string_view shown = Cut(printable, columns);
  const size_t width = Width(shown);
  const size_t covered = std::min(width_, columns);
  std::string line =
      "\r" + std::string(shown) + std::string(covered - std::min(covered, width), ' ');
  if (text.empty()) line += "\r";
  width_ = width;
  // A write error is ignored, because an error message could not be printed either.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

ProgressOfCall::ProgressOfCall(std::function<std::string()> describe) {
  if (!line_.on_terminal()) return;
  try {
    thread_ = std::jthread([this, describe = std::move(describe)](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any ends;
      std::unique_lock lock(mutex);
      for (std::chrono::milliseconds pause(1000);; pause = kPeriod) {
        ends.wait_for(lock, stop, pause, [] { return false; });
        if (stop.stop_requested()) return;
        line_.Show(describe());
      }
    });
  } catch (const std::system_error&) {
    // The thread could not be started. The call runs without a progress line.
  }
}

std::string DescribeWait(std::span<const Flight> flights, uint32_t uid) {
  const auto own = std::ranges::find(flights, true, &Flight::of_this_process);
  if (own == flights.end()) return "";
  if (own->state == "running") {
    std::string text = "compiling for " + InSeconds(own->running_ms);
    if (own->estimate_ms > 0) text += ", earlier ones took " + InSeconds(own->estimate_ms);
    return text;
  }
  std::string text = "waiting for a compiler for " + InSeconds(own->age_ms);
  // An administrator's build may share the compile of another user, whose queue must not be shown.
  if (own->uid != uid) return text;
  const auto queued = std::ranges::count_if(
      flights, [uid](const Flight& each) { return each.state == "queued" && each.uid == uid; });
  return text + "; " + std::to_string(queued) + " of yours wait";
}

std::function<std::string()> AsksForWait(std::string socket, std::string otherwise) {
  return [socket = std::move(socket), otherwise = std::move(otherwise),
          client = std::shared_ptr<Client>()]() mutable -> std::string {
    if (client == nullptr) {
      Expected<Client> opened = Client::Open(socket);
      if (!opened.ok()) return otherwise;
      client = std::make_shared<Client>(*std::move(opened));
    }
    // The timeout is short, because the command can't end before this request has ended.
    constexpr std::chrono::milliseconds kPatience{200};
    const Expected<Activity> activity = AskActivity(*client, kPatience);
    const std::string wait = activity.ok() ? DescribeWait(activity->flights, getuid()) : "";
    return wait.empty() ? otherwise : wait;
  };
}

}  // namespace cccl_cache::cli

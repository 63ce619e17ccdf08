// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "cccl_cache/client.h"
#include "cli/quantities.h"

namespace cccl_cache::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

std::string Seconds(uint64_t milliseconds) {
  return Fixed(static_cast<double>(milliseconds) / 1000, "s");
}

}  // namespace

ProgressLine::ProgressLine() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const std::string& text) {
  if (std::chrono::steady_clock::now() - begin_ >= std::chrono::seconds(1)) Write(text);
}

void ProgressLine::Write(const std::string& text) {
  if (!on_terminal_ || (text.empty() && width_ == 0)) return;
  std::string line = "\r" + text + std::string(width_ - std::min(width_, text.size()), ' ');
  if (text.empty()) line += "\r";
  width_ = text.size();
  // Nowhere to say that stderr can't be written to.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

ProgressOfCall::ProgressOfCall(std::function<std::string()> describe) {
  if (!line_.on_terminal()) return;
  thread_ = std::jthread([this, describe = std::move(describe)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ends;
    std::unique_lock lock(mutex);
    for (std::chrono::milliseconds pause(1000);; pause = kPatience) {
      ends.wait_for(lock, stop, pause, [] { return false; });
      if (stop.stop_requested()) return;
      if (const std::string text = describe(); !text.empty()) line_.Show(text);
    }
  });
}

std::string DescribeWait(std::span<const cccl_cache_flight> flights) {
  const auto own = std::ranges::find_if(
      flights, [](const cccl_cache_flight& each) { return each.of_this_process != 0; });
  if (own == flights.end()) return "";
  if (own->state == CCCL_CACHE_FLIGHT_RUNNING) {
    std::string text = "compiling for " + Seconds(own->running_ms);
    if (own->estimate_ms > 0) text += ", earlier ones took " + Seconds(own->estimate_ms);
    return text;
  }
  const auto is_queued = [&](const cccl_cache_flight& each) {
    return each.state == CCCL_CACHE_FLIGHT_QUEUED && each.uid == own->uid;
  };
  const auto queued = std::ranges::count_if(flights, is_queued);
  const auto place = std::ranges::count_if(flights, [&](const cccl_cache_flight& each) {
    return is_queued(each) && each.age_ms >= own->age_ms;
  });
  return "waiting for a compiler for " + Seconds(own->age_ms) + ": build " + std::to_string(place) +
         " of " + std::to_string(queued) + " of yours that wait";
}

std::string AskForWait(const std::string& socket) {
  Expected<Client> client = Client::Open(socket);
  if (!client.ok()) return "";
  const Expected<Client::Activity> activity = client->GetActivity(kPatience);
  if (!activity.ok()) return "";
  cccl_cache_activity_info totals = {.struct_size = sizeof(totals)};
  cccl_cache_activity_describe(activity->get(), &totals);
  std::vector<cccl_cache_flight> flights(totals.flight_count);
  for (size_t i = 0; i < flights.size(); ++i) {
    flights[i].struct_size = sizeof(flights[i]);
    cccl_cache_activity_flight(activity->get(), i, &flights[i]);
  }
  return DescribeWait(flights);
}

}  // namespace cccl_cache::cli

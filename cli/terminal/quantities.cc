// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/quantities.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "base/json.h"
#include "base/text.h"

namespace cccl_cache::cli {
namespace {

std::optional<std::chrono::seconds> UnitOf(std::string_view unit) {
  if (unit == "s") return std::chrono::seconds(1);
  if (unit == "m") return std::chrono::minutes(1);
  if (unit == "h") return std::chrono::hours(1);
  if (unit == "d") return std::chrono::days(1);
  return std::nullopt;
}

std::string Formatted(const std::tm* time, const char* format) {
  char text[64] = "?";
  if (time != nullptr) std::strftime(text, sizeof(text), format, time);
  return text;
}

}  // namespace

std::string Number(Quantity number) {
  std::string text = JsonWriter().Number(number.value).Finish();
  text.pop_back();
  return text;
}

std::string Count(Quantity number) {
  std::string text = Number(std::round(number.value));
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string Many(Quantity count, const std::string& one, const std::string& several) {
  return Count(count) + " " + (count.value == 1 ? one : several.empty() ? one + "s" : several);
}

std::string Fixed(Quantity number, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.1f %s", number.value, unit);
  return text;
}

std::string Bytes(Quantity number) {
  double bytes = number.value;
  constexpr double kStep = 1024;
  if (bytes < kStep) return Count(bytes) + " bytes";
  const char* unit = "KiB";
  bytes /= kStep;
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (bytes < kStep) break;
    bytes /= kStep;
    unit = larger;
  }
  return Fixed(bytes, unit);
}

std::string Use(Quantity bytes, Quantity limit) {
  std::string used = Bytes(bytes);
  if (limit.value <= 0) return used;
  const std::string all = Bytes(limit);
  const auto unit = [](const std::string& text) { return text.substr(text.rfind(' ')); };
  if (unit(used) == unit(all)) used.resize(used.rfind(' '));
  return used + " / " + all + " (" + Number(std::floor(100 * bytes.value / limit.value)) + " %)";
}

std::string Duration(Quantity number) {
  const double seconds = number.value;
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  const auto two = [seconds](double large, const char* first, double small, const char* second) {
    return Number(std::floor(seconds / large)) + first +
           Number(std::floor(std::fmod(seconds, large) / small)) + second;
  };
  if (seconds >= kDay) return two(kDay, " d ", kHour, " h");
  if (seconds >= kHour) return two(kHour, " h ", kMinute, " m");
  if (seconds >= kMinute) return two(kMinute, " m ", 1, " s");
  return Fixed(seconds, "s");
}

std::string LocalTime(uint64_t seconds, const char* format) {
  const auto time = static_cast<time_t>(seconds);
  std::tm parts = {};
  return Formatted(localtime_r(&time, &parts), format);
}

std::string UtcTime(uint64_t seconds, const char* format) {
  const auto time = static_cast<time_t>(seconds);
  std::tm parts = {};
  return Formatted(gmtime_r(&time, &parts), format);
}

size_t Width(std::string_view text) {
  const auto begins = [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; };
  return static_cast<size_t>(std::ranges::count_if(text, begins));
}

std::string_view Cut(std::string_view text, size_t columns) {
  size_t end = 0;
  for (size_t column = 0; column < columns && end < text.size(); ++column) {
    end += std::max<size_t>(Utf8Length(text.substr(end)), 1);
  }
  return text.substr(0, end);
}

std::optional<std::chrono::seconds> ParseDuration(std::string_view text) {
  constexpr int64_t kMax = 1'000'000'000'000;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0 || number > kMax) return std::nullopt;
  const auto unit = UnitOf(text.substr(static_cast<size_t>(end - text.data())));
  return unit ? std::optional(number * *unit) : std::nullopt;
}

std::optional<std::chrono::milliseconds> ParseWait(std::string_view text) {
  constexpr std::string_view kUnit = "ms";
  constexpr std::chrono::hours kLongest{1};
  std::optional<std::chrono::milliseconds> wait;
  if (text == "0" || text == "0s") {
    wait.emplace(0);
  } else if (text.ends_with(kUnit)) {
    uint32_t number = 0;
    const char* const unit = text.data() + text.size() - kUnit.size();
    const auto [end, error] = std::from_chars(text.data(), unit, number);
    if (error == std::errc() && end == unit) wait.emplace(number);
  } else {
    wait = ParseDuration(text);
  }
  return wait > kLongest ? std::nullopt : wait;
}

std::string NoWait(const std::string& text) {
  return "--wait: \"" + text + "\" is no time up to an hour, as 50ms, 2s, 1m or 0";
}

}  // namespace cccl_cache::cli

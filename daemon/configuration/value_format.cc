// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/value_format.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

namespace cccl_cache::daemon {
namespace {

Error BadValue(std::string message) {
  return Error{ErrorCode::kInvalidRequest, std::move(message)};
}

/// A unit of sizes or times, and its number of smallest units. Tables begin with the largest unit.
struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr uint64_t kMaxCount = 1'000'000'000;
constexpr std::string_view kZero = "0";
constexpr std::string_view kAuto = "auto";
constexpr std::array<Unit, 5> kSizeUnits = {Unit{"TiB", 1ull << 40}, Unit{"GiB", 1ull << 30},
                                            Unit{"MiB", 1ull << 20}, Unit{"KiB", 1ull << 10},
                                            Unit{"B", 1}};
constexpr std::array<Unit, 4> kTimeUnits = {Unit{"h", 3'600'000}, Unit{"m", 60'000},
                                            Unit{"s", 1'000}, Unit{"ms", 1}};

/// Removes and returns the number at the start of `text`. Returns none if there is none, or it
/// exceeds 64 bits.
std::optional<uint64_t> TakeNumber(std::string_view& text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

/// Parses a number and a unit, such as "4GiB". Returns the value in the smallest unit; none if it
/// is 0, exceeds `most`, or the text is malformed.
std::optional<uint64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                      uint64_t most) {
  const std::optional<uint64_t> number = TakeNumber(text, 10);
  if (!number || *number == 0) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text == unit.name && *number <= most / unit.factor) return *number * unit.factor;
  }
  return std::nullopt;
}

/// Returns the value in the largest unit that divides it.
std::string ShowWithUnit(uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
  }
  return {};
}

Result<uint64_t> ParseCount(std::string_view text, uint64_t least, uint64_t most) {
  std::string_view rest = text;
  const std::optional<uint64_t> number = TakeNumber(rest, 10);
  if (number && rest.empty() && *number >= least && *number <= most) return *number;
  return BadValue(fmt::format("\"{}\" is not a whole number from {} to {}", text, least, most));
}

/// Parses a size in bytes. `others` is the end of the error's message, with further accepted
/// values.
Result<uint64_t> ParseSize(std::string_view text, std::string_view others = "") {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const std::optional<uint64_t> bytes = ParseWithUnit(text, kSizeUnits, kMax);
  if (bytes) return *bytes;
  return BadValue(
      fmt::format("\"{}\" is not a size: write a whole number above 0 and B, KiB, MiB, GiB or TiB, "
                  "such as \"4GiB\"{}",
                  text, others));
}

template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

constexpr std::array<Choice<LogLevel>, 4> kLogLevels = {
    Choice<LogLevel>{"error", LogLevel::kError}, Choice<LogLevel>{"warning", LogLevel::kWarning},
    Choice<LogLevel>{"info", LogLevel::kInfo}, Choice<LogLevel>{"debug", LogLevel::kDebug}};
constexpr std::array<Choice<LogFormat>, 2> kLogFormats = {
    Choice<LogFormat>{"text", LogFormat::kText}, Choice<LogFormat>{"json", LogFormat::kJson}};

template <typename T, size_t kSize>
Result<T> ParseChoice(std::string_view text, const std::array<Choice<T>, kSize>& choices) {
  std::string names;
  for (const Choice<T>& choice : choices) {
    if (choice.name == text) return choice.value;
    if (!names.empty()) names += ", ";
    names += choice.name;
  }
  return BadValue(fmt::format("\"{}\" is none of: {}", text, names));
}

template <typename T, size_t kSize>
std::string ShowChoice(T value, const std::array<Choice<T>, kSize>& choices) {
  for (const Choice<T>& choice : choices) {
    if (choice.value == value) return std::string(choice.name);
  }
  return {};
}

}  // namespace

Result<std::string> PathFormat::Parse(std::string_view text) {
  if (!text.starts_with('/')) {
    return BadValue(fmt::format("\"{}\" is not an absolute path: begin it with /", text));
  }
  return std::string(text);
}

Result<std::string> OptionalPathFormat::Parse(std::string_view text) {
  return text.empty() ? std::string() : PathFormat::Parse(text);
}

Result<mode_t> ModeFormat::Parse(std::string_view text) {
  std::string_view rest = text;
  const std::optional<uint64_t> number = TakeNumber(rest, 8);
  if (!number || !rest.empty() || *number > 0777) {
    return BadValue(
        fmt::format("\"{}\" is not a mode: write octal permission bits such as \"0660\"", text));
  }
  return static_cast<mode_t>(*number);
}

std::string ModeFormat::Show(mode_t value) { return fmt::format("{:04o}", value); }

Result<uint64_t> CountFormat::Parse(std::string_view text) {
  return ParseCount(text, 1, kMaxCount);
}

Result<uint64_t> FrequencyFormat::Parse(std::string_view text) {
  return ParseCount(text, 0, kMaxCount);
}

Result<uint64_t> ThreadCountFormat::Parse(std::string_view text) {
  return ParseCount(text, 1, 1024);
}

std::string CountFormat::Show(uint64_t value) { return fmt::format("{}", value); }

Result<uint64_t> SizeFormat::Parse(std::string_view text) { return ParseSize(text); }

Result<uint64_t> SizeOrZeroFormat::Parse(std::string_view text) {
  if (text == kZero) return 0;
  return ParseSize(text, ", or 0");
}

std::string SizeOrZeroFormat::Show(uint64_t value) {
  return value == 0 ? std::string(kZero) : SizeFormat::Show(value);
}

Result<std::optional<uint64_t>> SizeOrAutoFormat::Parse(std::string_view text) {
  if (text == kAuto) return std::optional<uint64_t>();
  if (text == kZero) return std::optional<uint64_t>(0);
  const Result<uint64_t> size = ParseSize(text, ", or 0, or auto");
  if (!size) return size.error();
  return std::optional(*size);
}

std::string SizeOrAutoFormat::Show(const std::optional<uint64_t>& value) {
  return value ? SizeOrZeroFormat::Show(*value) : std::string(kAuto);
}

Result<uint64_t> MessageSizeFormat::Parse(std::string_view text) {
  Result<uint64_t> size = SizeFormat::Parse(text);
  if (size && *size > 1ull << 30) return BadValue(fmt::format("{} is more than 1GiB", text));
  return size;
}

Result<uint64_t> SharedSizeFormat::Parse(std::string_view text) {
  constexpr uint64_t kLeast = 64ull << 10;
  constexpr uint64_t kMost = 32ull << 20;
  Result<uint64_t> size = SizeFormat::Parse(text);
  if (size && (*size < kLeast || *size > kMost)) {
    return BadValue(fmt::format("{} is not from {} to {}", text, SizeFormat::Show(kLeast),
                                SizeFormat::Show(kMost)));
  }
  return size;
}

Result<uint64_t> CompileMemoryFormat::Parse(std::string_view text) {
  constexpr uint64_t kLeast = 96ull << 20;
  Result<uint64_t> size = SizeFormat::Parse(text);
  if (size && *size < kLeast) {
    return BadValue(
        fmt::format("{} is less than {}, which a compiler needs to tell an ordinary error", text,
                    Show(kLeast)));
  }
  return size;
}

std::string SizeFormat::Show(uint64_t value) { return ShowWithUnit(value, kSizeUnits); }

Result<std::chrono::milliseconds> DurationFormat::Parse(std::string_view text) {
  constexpr uint64_t kMax = 1'000ull * 86'400 * 365;
  const std::optional<uint64_t> milliseconds = ParseWithUnit(text, kTimeUnits, kMax);
  if (!milliseconds) {
    return BadValue(
        fmt::format("\"{}\" is not a span of time up to a year: write a whole number and ms, s, m "
                    "or h, such as "
                    "\"90s\"",
                    text));
  }
  return std::chrono::milliseconds(*milliseconds);
}

std::string DurationFormat::Show(std::chrono::milliseconds value) {
  return ShowWithUnit(static_cast<uint64_t>(value.count()), kTimeUnits);
}

Result<std::chrono::milliseconds> DurationOrZeroFormat::Parse(std::string_view text) {
  if (text == kZero) return std::chrono::milliseconds(0);
  return DurationFormat::Parse(text);
}

std::string DurationOrZeroFormat::Show(std::chrono::milliseconds value) {
  return value.count() == 0 ? std::string(kZero) : DurationFormat::Show(value);
}

Result<LogLevel> LogLevelFormat::Parse(std::string_view text) {
  return ParseChoice(text, kLogLevels);
}

std::string LogLevelFormat::Show(LogLevel value) { return ShowChoice(value, kLogLevels); }

Result<LogFormat> LogFormatFormat::Parse(std::string_view text) {
  return ParseChoice(text, kLogFormats);
}

std::string LogFormatFormat::Show(LogFormat value) { return ShowChoice(value, kLogFormats); }

Result<ToolchainSearch> ToolchainSearchFormat::Parse(std::string_view text) {
  if (text == "everywhere") return ToolchainSearch::kEverywhere;
  if (text == "roots") return ToolchainSearch::kRoots;
  return BadValue(fmt::format("\"{}\" is neither \"everywhere\" nor \"roots\"", text));
}

std::string ToolchainSearchFormat::Show(ToolchainSearch value) {
  return value == ToolchainSearch::kRoots ? "roots" : "everywhere";
}

}  // namespace cccl_cache::daemon

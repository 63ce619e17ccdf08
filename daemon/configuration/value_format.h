// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/configuration/configuration.h"
#include "daemon/core/model/result.h"

/// Text formats of settings, one for each kind of value. Each format has
///   Parse        returns the value of a text, or an error that names the accepted texts
///   Show         returns the text of a value; Parse accepts that text
///   kPlaceholder the name of the value in --help
///   kBare        whether the configuration file has the value without quotes
namespace cccl_cache::daemon {

/// An absolute path.
struct PathFormat {
  static constexpr std::string_view kPlaceholder = "PATH";
  static constexpr bool kBare = false;
  static Result<std::string> Parse(std::string_view text);
  static std::string Show(const std::string& value) { return value; }
};

/// An absolute path; empty for none.
struct OptionalPathFormat : PathFormat {
  static Result<std::string> Parse(std::string_view text);
};

/// A URL, or empty for none.
struct UrlFormat {
  static constexpr std::string_view kPlaceholder = "URL";
  static constexpr bool kBare = false;
  static Result<std::string> Parse(std::string_view text) { return std::string(text); }
  static std::string Show(const std::string& value) { return value; }
};

/// Text without rules.
struct TextFormat : UrlFormat {
  static constexpr std::string_view kPlaceholder = "TEXT";
};

/// The name of a group of this machine; empty for none.
struct GroupFormat {
  static constexpr std::string_view kPlaceholder = "GROUP";
  static constexpr bool kBare = false;
  static Result<std::string> Parse(std::string_view text) { return std::string(text); }
  static std::string Show(const std::string& value) { return value; }
};

/// Octal permission bits: 0660.
struct ModeFormat {
  static constexpr std::string_view kPlaceholder = "MODE";
  static constexpr bool kBare = false;
  static Result<mode_t> Parse(std::string_view text);
  static std::string Show(mode_t value);
};

/// A whole number from 1 to 1,000,000,000.
struct CountFormat {
  static constexpr std::string_view kPlaceholder = "N";
  static constexpr bool kBare = true;
  static Result<uint64_t> Parse(std::string_view text);
  static std::string Show(uint64_t value);
};

/// A whole number from 0 to 1,000,000,000; 0 means never.
struct FrequencyFormat : CountFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// Threads: a whole number from 1 to 1024.
struct ThreadCountFormat : CountFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// A number of bytes above 0, with a unit: 512MiB.
struct SizeFormat {
  static constexpr std::string_view kPlaceholder = "SIZE";
  static constexpr bool kBare = false;
  static Result<uint64_t> Parse(std::string_view text);
  static std::string Show(uint64_t value);
};

/// Like SizeFormat, but also "0".
struct SizeOrZeroFormat : SizeFormat {
  static Result<uint64_t> Parse(std::string_view text);
  static std::string Show(uint64_t value);
};

/// Like SizeFormat, but also "0", or "auto" if the daemon shall determine the value.
struct SizeOrAutoFormat : SizeFormat {
  static Result<std::optional<uint64_t>> Parse(std::string_view text);
  static std::string Show(const std::optional<uint64_t>& value);
};

/// Bytes of one message: at most 1GiB, the largest size that gRPC can count.
struct MessageSizeFormat : SizeFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// Bytes of a shared entry: from 64KiB to 32MiB, which is half of the outbox's limit.
struct SharedSizeFormat : SizeFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// The memory for one compile: at least 96MiB. A compile with an ordinary error needs up to 72 MiB,
/// mostly for the compiler's code and tables. Near the limit, such an error could not be
/// distinguished from a lack of memory.
struct CompileMemoryFormat : SizeFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// A length of time above 0 and up to a year, with a unit: 90s.
struct DurationFormat {
  static constexpr std::string_view kPlaceholder = "TIME";
  static constexpr bool kBare = false;
  static Result<std::chrono::milliseconds> Parse(std::string_view text);
  static std::string Show(std::chrono::milliseconds value);
};

/// Like DurationFormat, but also "0".
struct DurationOrZeroFormat : DurationFormat {
  static Result<std::chrono::milliseconds> Parse(std::string_view text);
  static std::string Show(std::chrono::milliseconds value);
};

struct LogLevelFormat {
  static constexpr std::string_view kPlaceholder = "LEVEL";
  static constexpr bool kBare = false;
  static Result<LogLevel> Parse(std::string_view text);
  static std::string Show(LogLevel value);
};

struct LogFormatFormat {
  static constexpr std::string_view kPlaceholder = "FORMAT";
  static constexpr bool kBare = false;
  static Result<LogFormat> Parse(std::string_view text);
  static std::string Show(LogFormat value);
};

struct ToolchainSearchFormat {
  static constexpr std::string_view kPlaceholder = "WHERE";
  static constexpr bool kBare = false;
  static Result<ToolchainSearch> Parse(std::string_view text);
  static std::string Show(ToolchainSearch value);
};

}  // namespace cccl_cache::daemon

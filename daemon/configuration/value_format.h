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

/// Text formats, one for each kind of value. Each format has
///   Parse        returns the value of a text; the error names the accepted texts
///   Show         returns the text of a value, which Parse accepts
///   kPlaceholder the name of the value in --help
///   kBare        whether TOML has it without quotes
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

/// A whole number above 0.
struct CountFormat {
  static constexpr std::string_view kPlaceholder = "N";
  static constexpr bool kBare = true;
  static Result<uint64_t> Parse(std::string_view text);
  static std::string Show(uint64_t value);
};

/// A whole number; 0: never.
struct FrequencyFormat : CountFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// Threads: a whole number from 1 to 1024.
struct ThreadCountFormat : CountFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// Bytes: 512MiB.
struct SizeFormat {
  static constexpr std::string_view kPlaceholder = "SIZE";
  static constexpr bool kBare = false;
  static Result<uint64_t> Parse(std::string_view text);
  static std::string Show(uint64_t value);
};

/// Bytes as above, or "0" for none.
struct SizeOrZeroFormat : SizeFormat {
  static Result<uint64_t> Parse(std::string_view text);
  static std::string Show(uint64_t value);
};

/// Bytes as above, or "auto": the daemon determines the value.
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

/// Bytes of memory for one compile: at least 96MiB. An ordinary compile error needs up to 72 MiB,
/// most of it for the compiler's code and tables. Near the limit it can't be distinguished from a
/// lack of memory.
struct CompileMemoryFormat : SizeFormat {
  static Result<uint64_t> Parse(std::string_view text);
};

/// A span of time: 90s.
struct DurationFormat {
  static constexpr std::string_view kPlaceholder = "TIME";
  static constexpr bool kBare = false;
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

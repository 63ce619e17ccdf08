// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cccl_cache/client_c.h"

/// The answer to a build.
struct FakeResult {
  cccl_cache_outcome outcome = CCCL_CACHE_BUILT;
  std::string log;
  std::string reason;
  std::string hint;
  std::vector<std::pair<cccl_cache_artifact_kind, std::string>> artifacts;
  std::vector<std::pair<std::string, std::string>> lowered_names;
  cccl_cache_tier tier = CCCL_CACHE_TIER_NONE;
  std::string key;
};

struct FakeStatistic {
  std::string name;
  std::string label;
  double value = 0;
  bool gauge = false;
  std::string labels = {};
};

struct FakeDeposit {
  std::string key;
  std::string name_space;
  std::optional<uint32_t> gid;
  uint64_t size = 0;
};

struct FakeToolchain {
  std::string id;
  std::string version;
  bool selected = false;
  std::vector<std::pair<std::string, std::string>> components;  ///< name, version
  std::vector<std::string> architectures = {};
};

struct FakeFlight {
  std::string key;
  std::string kind = "nvrtc";
  std::string state = "running";
  uint64_t waiters = 1;
};

struct FakeItem {
  cccl_cache_snapshot_kind kind = CCCL_CACHE_SNAPSHOT_ARTIFACT;
  std::string key;
  std::string arch;
  std::string name_space;
};

/// Replaces libcccl_cache.so in these tests: has its answers, and records its calls. The keys of
/// `failures` are names of C functions without their prefix.
struct FakeLibrary {
  std::map<std::string, cccl_cache_status> failures;
  size_t calls_before_failure = 0;  ///< number of calls that succeed before a function fails
  uint32_t retry_after_ms = 0;

  FakeResult result;
  std::optional<FakeResult> second_result;  ///< of the second build; none: the same as the first
  size_t builds = 0;
  std::string verdict = "differs";  ///< of an explanation
  std::vector<FakeStatistic> statistics;
  std::vector<FakeFlight> flights;
  std::vector<std::string> compile_errors;
  std::vector<FakeDeposit> deposits;
  std::vector<FakeToolchain> toolchains;
  std::vector<std::pair<std::string, std::string>> rejected;  ///< root, reason
  bool has_release = false;  ///< whether the daemon already has the added release
  bool serving = true;
  std::string problem;
  std::string remote_address;
  std::string remote_problem;
  std::vector<FakeItem> items;
  cccl_cache_snapshot_summary summary = {sizeof(cccl_cache_snapshot_summary), 1, 8, 0, 0};
  std::string written = "snapshot";  ///< by snapshot_create and snapshot_delta
  uint64_t evicted = 0;              ///< entries of 2 KiB
  uint64_t verified = 0;
  uint64_t broken = 0;
  uint64_t unreadable = 0;

  std::string called;  ///< the last function that asked the daemon
  std::string socket;
  cccl_cache_fallback fallback = CCCL_CACHE_FALLBACK_LOCAL;
  uint64_t process_cache_bytes = 0;
  std::vector<std::string> options;
  /// "type name=contents" of headers, link inputs and modules; paths of added releases.
  std::vector<std::string> inputs;
  std::string source;
  std::string name;  ///< of the program
  std::string environment;
  std::vector<std::string> name_expressions;
  bool toolchain_headers = false;
  bool libdevice = false;
  uint32_t toolchain_major = 0;
  cccl_cache_artifact_kind wanted = CCCL_CACHE_PTX;
  bool all_users = false;
  std::vector<std::string> arguments;  ///< of the last query
};

/// Returns the library as set up by the running test.
FakeLibrary& Library();

/// Starts a test with a library in its initial state.
struct FreshLibrary {
  FreshLibrary() { Library() = FakeLibrary(); }
};

/// Returns the status and error with which the function must fail, or CCCL_CACHE_OK.
cccl_cache_status FakeFailure(const std::string& function, cccl_cache_error** error);

/// Returns the answer to a query, as JSON.
std::string FakeAnswer(std::string_view question);

inline cccl_cache_bytes FakeBytes(const std::string& text) { return {text.data(), text.size()}; }

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/passed_options.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace cccl_cache {
namespace {

constexpr OptionReceiver kAssembler = OptionReceiver::kAssembler;

/// Whether one of the tool's arguments, in order, is refused.
bool IsRefused(OptionReceiver receiver, const std::vector<std::string>& values) {
  PassedOptions passed;
  bool refused = false;
  for (const std::string& value : values) {
    refused = !passed.Refusal(receiver, value).empty() || refused;
  }
  return refused;
}

TEST_CASE("the assembler's usual options pass") {
  for (const char* value : {"-v", "--verbose", "-O3", "--opt-level=1", "-maxrregcount=32",
                            "--entry=k,l", "--warn-on-spills", "-dlcm=cg", "--no-such-option"}) {
    CAPTURE(value);
    REQUIRE_FALSE(IsRefused(kAssembler, {value}));
  }
}

TEST_CASE("the assembler is told of no file, in any spelling") {
  for (const char* value :
       {"--options-file=/f", "--options-file", "-optf=/f", "-optf", "-o=/f", "-o",
        "--output-file=/f", "--nv-host=/f", "--apply-controls=/f", "--query-controls=/f",
        "--compiler-stats-file=/f", "--fdevice-time-trace=/f", "--dump-perf-metrics-file=/f"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(kAssembler, {value}));
    REQUIRE(IsRefused(kAssembler, {"--entry", value}));
  }
}

TEST_CASE("a file option inside a list, quotes or white space is found") {
  for (const char* value :
       {"-v,-optf=/f", "-v -optf /f", "\"-optf=/f\"", "' -optf=/f'", " -optf=/f",
        "\t--options-file=/f", "-v;-o=/f", "-v,\"-o\",/f", "-v\n-optf\n/f"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(kAssembler, {value}));
  }
}

TEST_CASE("a word without a dash would be a file for the assembler") {
  for (const char* value : {"/etc/hostname", "file.ptx", "@/f", "", " ", ","}) {
    CAPTURE(value);
    REQUIRE(IsRefused(kAssembler, {value}));
    REQUIRE(IsRefused(kAssembler, {"-v", value}));
    REQUIRE(IsRefused(kAssembler, {"-O", value}));
    REQUIRE(IsRefused(kAssembler, {"--no-such-option", value}));
  }
}

TEST_CASE("a word without a dash is the value of an option that awaits one, once") {
  REQUIRE_FALSE(IsRefused(kAssembler, {"--maxrregcount", "32", "-v"}));
  REQUIRE_FALSE(IsRefused(kAssembler, {"-e", "kernel"}));
  REQUIRE(IsRefused(kAssembler, {"--maxrregcount", "32", "file"}));
  REQUIRE(IsRefused(kAssembler, {"--maxrregcount=32", "file"}));
  REQUIRE(IsRefused(kAssembler, {"-e", "-e", "file"}));
}

TEST_CASE("the front end is told of diagnostics by number and of nothing else") {
  for (const char* value : {"--diag_suppress=177", "--diag_error=1,2", "--diag_warning=3"}) {
    CAPTURE(value);
    REQUIRE_FALSE(IsRefused(OptionReceiver::kFrontEnd, {value}));
  }
  for (const char* value :
       {"--list=/f", "--diag_suppress=177 --list=/f", "--diag_suppress", "file", "",
        "--diag_suppress=177,--list=/f", "--create_pch=/f", "--diag_suppress=name"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(OptionReceiver::kFrontEnd, {value}));
  }
}

TEST_CASE("libNVVM behind another compiler gets its own options, not LLVM's") {
  REQUIRE_FALSE(IsRefused(OptionReceiver::kOptimizer, {"-opt=0"}));
  for (const char* value : {"-Xopt", "-Xllc", "-Xlnk", " -Xopt", "-opt=0,-Xopt"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(OptionReceiver::kOptimizer, {value}));
  }
}

TEST_CASE("a value that no tool is handed is not looked into") {
  REQUIRE_FALSE(IsRefused(OptionReceiver::kCompiler, {"--options-file=/f", "file"}));
}

}  // namespace
}  // namespace cccl_cache

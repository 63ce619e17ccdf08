// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/value_format.h"

#include <catch2/catch.hpp>

namespace value_format_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;

TEST_CASE("a size is a whole number with a binary unit") {
  CHECK(*SizeFormat::Parse("4GiB") == 4ull << 30);
  CHECK(*SizeFormat::Parse("512 MiB") == 512ull << 20);
  CHECK(*SizeFormat::Parse("1B") == 1);
  for (const char* bad : {"", "GiB", "4", "4GB", "-1GiB", "0B", "1.5GiB", "4GiBx", "0x4GiB",
                          "99999999999999999999B", "9999999TiB", "+4GiB"}) {
    INFO(bad);
    REQUIRE_FALSE(SizeFormat::Parse(bad).ok());
    CHECK(SizeFormat::Parse(bad).error().message.find("4GiB") != std::string::npos);
  }
}

TEST_CASE("the error of a refused size says whether 0 and auto are accepted") {
  using Catch::Matchers::Contains;
  CHECK_THAT(SizeFormat::Parse("0").error().message, Contains("above 0"));
  CHECK_THAT(SizeOrZeroFormat::Parse("4").error().message, Contains("or 0"));
  CHECK_THAT(SizeOrAutoFormat::Parse("4").error().message, Contains("or 0") && Contains("auto"));
}

TEST_CASE("a size may be auto if the daemon can determine it") {
  CHECK(*SizeOrAutoFormat::Parse("auto") == std::nullopt);
  CHECK(*SizeOrAutoFormat::Parse("0") == 0u);
  CHECK(*SizeOrAutoFormat::Parse("4GiB") == 4ull << 30);
  CHECK_FALSE(SizeOrAutoFormat::Parse("Auto").ok());
  for (const char* text : {"auto", "0", "4GiB"}) {
    CHECK(SizeOrAutoFormat::Show(*SizeOrAutoFormat::Parse(text)) == text);
  }
}

TEST_CASE("the error of a compile memory limit below the minimum names the minimum") {
  CHECK(*CompileMemoryFormat::Parse("96MiB") == 96ull << 20);
  CHECK(*CompileMemoryFormat::Parse("4GiB") == 4ull << 30);
  for (const char* bad : {"98303KiB", "36MiB", "1B"}) {
    INFO(bad);
    REQUIRE_FALSE(CompileMemoryFormat::Parse(bad).ok());
    CHECK(CompileMemoryFormat::Parse(bad).error().message.find("96MiB") != std::string::npos);
  }
  CHECK_FALSE(CompileMemoryFormat::Parse("4").ok());
}

TEST_CASE("a duration needs a unit") {
  CHECK(*DurationFormat::Parse("90s") == 90s);
  CHECK(*DurationFormat::Parse("250ms") == 250ms);
  CHECK(*DurationFormat::Parse("2h") == 2h);
  for (const char* bad : {"", "90", "s", "-1s", "0s", "1d", "99999999h", "1s 2ms"}) {
    INFO(bad);
    CHECK_FALSE(DurationFormat::Parse(bad).ok());
  }
}

TEST_CASE("a mode is octal and holds permission bits only") {
  CHECK(*ModeFormat::Parse("0666") == 0666);
  CHECK(*ModeFormat::Parse("600") == 0600);
  for (const char* bad : {"", "0888", "01777", "0o600", "rw", "-1", "0x1ff"}) {
    INFO(bad);
    CHECK_FALSE(ModeFormat::Parse(bad).ok());
  }
}

TEST_CASE("a count is a whole number above zero") {
  CHECK(*CountFormat::Parse("16") == 16);
  for (const char* bad : {"", "0", "-1", "1e3", "16 ", "1000000001"}) {
    INFO(bad);
    CHECK_FALSE(CountFormat::Parse(bad).ok());
  }
}

TEST_CASE("the error of a wrong number of threads has the valid range") {
  CHECK(*ThreadCountFormat::Parse("1024") == 1024);
  for (const char* bad : {"0", "1025", "100000", "1000000001", "some"}) {
    INFO(bad);
    REQUIRE_FALSE(ThreadCountFormat::Parse(bad).ok());
    CHECK_THAT(ThreadCountFormat::Parse(bad).error().message,
               Catch::Matchers::Contains("from 1 to 1024"));
  }
}

TEST_CASE("a frequency may be zero") {
  CHECK(*FrequencyFormat::Parse("0") == 0);
  CHECK(*FrequencyFormat::Parse("1000") == 1000);
  CHECK_FALSE(FrequencyFormat::Parse("-1").ok());
}

TEST_CASE("a path must be absolute") {
  CHECK(*PathFormat::Parse("/run/x") == "/run/x");
  CHECK_FALSE(PathFormat::Parse("run/x").ok());
  CHECK_FALSE(PathFormat::Parse("").ok());
}

TEST_CASE("the error of a wrong choice lists the valid choices") {
  CHECK(*LogLevelFormat::Parse("debug") == LogLevel::kDebug);
  CHECK(*LogFormatFormat::Parse("json") == LogFormat::kJson);
  CHECK(LogLevelFormat::Parse("loud").error().message ==
        "\"loud\" is none of: error, warning, info, debug");
}

TEST_CASE("a shown value can be parsed and is the same value") {
  for (const uint64_t size : {1ull, 1000ull, 1024ull, 4ull << 30, (4ull << 30) + 1, 3ull << 40}) {
    CHECK(*SizeFormat::Parse(SizeFormat::Show(size)) == size);
  }
  for (const auto time : {1ms, 1500ms, 60000ms, 120000ms, 3600000ms}) {
    CHECK(*DurationFormat::Parse(DurationFormat::Show(time)) == time);
  }
  CHECK(ModeFormat::Show(0640) == "0640");
  CHECK(SizeFormat::Show(4ull << 30) == "4GiB");
  CHECK(DurationFormat::Show(90s) == "90s");
  CHECK_FALSE(DurationFormat::Parse("0").ok());
  CHECK(*DurationOrZeroFormat::Parse("0") == 0s);
  CHECK(DurationOrZeroFormat::Show(0s) == "0");
  CHECK(DurationOrZeroFormat::Show(*DurationOrZeroFormat::Parse("90s")) == "90s");
}

}  // namespace value_format_test

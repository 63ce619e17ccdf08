// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cli/doctor/check.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/listening_socket.h"
#include "tests/unit/cli/said.h"

namespace doctor_command_test {

namespace {

using namespace cccl_cache::cli;

/// A daemon without problems, and no python3.
class Scene {
 public:
  Scene() : path_(std::getenv("PATH")) {
    setenv("PATH", directory_.path().c_str(), 1);
    Library() = FakeLibrary();
    Library().toolchains = {{"aa", "13.0", true, {}, {"sm_75"}}};
    Library().result = {.artifacts = {{CCCL_CACHE_CUBIN, "bytes"}}};
    Library().second_result = Library().result;
    Library().second_result->outcome = CCCL_CACHE_HIT;
  }
  ~Scene() { setenv("PATH", path_.c_str(), 1); }

  [[nodiscard]] Said Doctor(bool json) const {
    return RunCommand({"doctor"}, {.socket = socket(), .json = json});
  }
  [[nodiscard]] std::string socket() const { return directory_ / "socket"; }

 private:
  const std::string path_;
  const cccl_cache::daemon::TemporaryDirectory directory_;
};

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("doctor ends with 0 if its test program is built once and then hits") {
  const Scene scene;
  const ListeningSocket listening(scene.socket());
  const Said said = scene.Doctor(true);
  CHECK(said.exit_code == 0);
  CHECK(Library().builds == 2);
  for (const char* part : {"\"version\": \"", "\"name\": \"build\"", "\"failed\": 0"}) {
    INFO(part);
    CHECK(Has(said.output, part));
  }
  CHECK(CountOf("\"verdict\": \"skipped\"", said.output) == 0);
}

TEST_CASE("doctor without a daemon ends with 1, and runs the checks that need none") {
  const Scene scene;
  const Said said = scene.Doctor(true);
  CHECK(said.exit_code == 1);
  CHECK(Library().builds == 0);
  CHECK(Has(said.output, "\"failed\": 1"));
  CHECK(CountOf("\"verdict\": \"failure\"", said.output) == 1);
  CHECK(CountOf("\"verdict\": \"skipped\"", said.output) == 4);
  CHECK(CountOf("\"name\": ", said.output) == 11);
}

TEST_CASE("a warning of doctor is no failure") {
  const Scene scene;
  const ListeningSocket listening(scene.socket());
  Library().rejected = {{"/opt/cuda", "others can write it"}};
  const Said said = scene.Doctor(false);
  CHECK(said.exit_code == 0);
  CHECK(Has(said.output, "toolchains  warning"));
}

TEST_CASE("the lines of doctor are at most 100 columns wide, with the remedy below") {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  const std::string text =
      ChecksText({{"disk", CheckVerdict::kFailure, words, "make room"}}, false);
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 100);
  CHECK(count > 6);
  CHECK(Has(text, "\n                     -> make room\n"));
}

TEST_CASE("doctor writes no control characters except requested colours") {
  const std::vector<Check> checks = {{"one", CheckVerdict::kPass, "a \033[2Jpath"}};
  CHECK_FALSE(Has(ChecksText(checks, false), "\033"));
  CHECK(CountOf("\033[", ChecksText(checks, true)) == 2);  // on and off
}

TEST_CASE("control characters of two bytes and malformed UTF-8 don't reach the terminal") {
  const auto shown = [](const std::string& text) {
    return ChecksText({{"one", CheckVerdict::kPass, text}}, false);
  };
  CHECK(Has(shown("a\xc2\x9b"
                  "2J b\xc2\x80 c\xc2\x9f"),
            "a?2J b? c?\n"));
  CHECK(Has(shown("a\x9b"
                  "2J b\xe2\x82 c\xff d\x7f"),
            "a?2J b?? c? d?\n"));
  const std::string foreign = "\xc2\xa0 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n";
  CHECK(Has(shown(foreign), foreign));
}

}  // namespace doctor_command_test

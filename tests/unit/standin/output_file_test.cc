// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "base/files/whole_file.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::output_file_test {
namespace {

/// A former output with a second name, which shows whether the file was replaced or written.
struct Former {
  explicit Former(std::string_view contents) : output(directory.Write("output", contents)) {
    REQUIRE(link(output.c_str(), second.c_str()) == 0);
  }

  [[nodiscard]] std::string InSecond() const { return ReadFileAt(second).value_or("none"); }

  daemon::TemporaryDirectory directory;
  std::string output;
  std::string second = directory / "second";
};

TEST_CASE("an output that the tool replaces is a new file") {
  const Former former("former");
  REQUIRE(WriteOutput(former.output, "kept", true, false));
  CHECK(ReadFileAt(former.output) == "kept");
  CHECK(former.InSecond() == "former");
}

TEST_CASE("an empty file is written in place, also by a tool that replaces its outputs") {
  const Former former("");
  REQUIRE(WriteOutput(former.output, "kept", true, false));
  CHECK(former.InSecond() == "kept");
}

TEST_CASE("a link to no file is written through, also by a tool that replaces its outputs") {
  const daemon::TemporaryDirectory directory;
  REQUIRE(symlink("target", (directory / "output").c_str()) == 0);
  REQUIRE(WriteOutput(directory / "output", "kept", true, false));
  CHECK(ReadFileAt(directory / "target") == "kept");
}

TEST_CASE("an output that the tool does not replace keeps its file") {
  const Former former("a longer former output");
  REQUIRE(WriteOutput(former.output, "kept", false, false));
  CHECK(former.InSecond() == "kept");
}

TEST_CASE("an output in a directory that is not there is not written") {
  const daemon::TemporaryDirectory directory;
  for (const bool replaced : {true, false}) {
    CHECK_FALSE(WriteOutput(directory / "none/output", "kept", replaced, false));
  }
}

}  // namespace
}  // namespace cccl_cache::output_file_test

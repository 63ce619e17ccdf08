// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/kept_run.h"

#include <catch2/catch.hpp>
#include <optional>
#include <sstream>
#include <string>

namespace cccl_cache::standin::kept_run_test {
namespace {

ToolRun Read(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  const auto run = ReadToolRun(*FindTool(words[0], words), words);
  REQUIRE(run);
  return *run;
}

/// Returns a run of cicc with these digits in its temporary names.
ToolRun Cicc(const std::string& digits) {
  const std::string name = "/tmp/tmpxft_" + digits + "_00000000-6_k";
  return Read("cicc " + name + ".ii --gen_c_file_name " + name + ".c -o " + name + ".ptx");
}

TEST_CASE("a replay has the temporary name of its own run in files and messages") {
  const std::string first = "tmpxft_0000aaaa_00000000";
  const auto contents =
      KeptRun::Encode({{"c of " + first, "ptx"}, "", first + ": warning; tmpxft_0000cccc_00000000"},
                      Cicc("0000aaaa"));
  REQUIRE(contents);
  const auto kept = KeptRun::Decode(*contents, Cicc("0000bbbb"));
  REQUIRE(kept);
  CHECK(kept->files == Words{"c of tmpxft_0000bbbb_00000000", "ptx"});
  CHECK(kept->err == "tmpxft_0000bbbb_00000000: warning; tmpxft_0000cccc_00000000");
  CHECK_FALSE(KeptRun::Decode(*contents, Read("cicc a.ii --gen_c_file_name a.c -o a.ptx")));
}

TEST_CASE("an output with the placeholder of temporary names is not kept") {
  const std::string placeholder = "tmpxft_XXXXXXXX_XXXXXXXX";
  CHECK_FALSE(KeptRun::Encode({{placeholder, ""}, "", ""}, Cicc("0000aaaa")));
  CHECK_FALSE(KeptRun::Encode({{"", placeholder}, "", ""}, Cicc("0000aaaa")));
  CHECK_FALSE(KeptRun::Encode({{"", ""}, "", placeholder}, Cicc("0000aaaa")));
  CHECK(KeptRun::Encode({{"", ""}, "", ""}, Cicc("0000aaaa")));
}

TEST_CASE("contents for another number of files, cut off or too long, are not decoded") {
  const ToolRun run = Cicc("0000aaaa");
  const auto contents = KeptRun::Encode({{"a", "b"}, "", "log"}, run);
  REQUIRE(contents);
  CHECK_FALSE(KeptRun::Decode(*contents, Read("cicc a.ii -o a.ptx")));
  CHECK_FALSE(KeptRun::Decode(*contents + "x", run));
  for (size_t size = 0; size < contents->size(); ++size) {
    CHECK_FALSE(KeptRun::Decode(contents->substr(0, size), run));
  }
}

TEST_CASE("a message of ptxas names the input of the run that asks") {
  const auto contents = KeptRun::Encode({{"cubin"}, "", "ptxas a.ptx, line 4; warning\n"},
                                        Read("ptxas a.ptx -o a.cubin"));
  REQUIRE(contents);
  CHECK(KeptRun::Decode(*contents, Read("ptxas b.ptx -o b.cubin"))->err ==
        "ptxas b.ptx, line 4; warning\n");
  CHECK_FALSE(KeptRun::Encode({{"cubin"}, "", "a.ptx is odd"}, Read("ptxas a.ptx -o o")));
}

}  // namespace
}  // namespace cccl_cache::standin::kept_run_test

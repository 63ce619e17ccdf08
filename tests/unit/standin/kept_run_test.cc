// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/kept_run.h"

#include <catch2/catch.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "client/standin/line_table.h"
#include "tests/support/line_tables.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::standin::kept_run_test {
namespace {

using line_tables::Cubin;
using line_tables::Table;

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
  const auto contents = KeptRun::Encode({{Cubin("")}, "", "ptxas a.ptx, line 4; warning\n"},
                                        Read("ptxas a.ptx -o a.cubin"));
  REQUIRE(contents);
  CHECK(KeptRun::Decode(*contents, Read("ptxas b.ptx -o b.cubin"))->err ==
        "ptxas b.ptx, line 4; warning\n");
  CHECK_FALSE(KeptRun::Encode({{Cubin("")}, "", "a.ptx is odd"}, Read("ptxas a.ptx -o o")));
}

/// A run of ptxas on PTX of a source in this directory.
ToolRun Ptxas(const std::string& directory) {
  ToolRun run = Read("ptxas a.ptx -o a.cubin -lineinfo");
  run.fresh = FreshDirectory::Of(directory + "/k.cu");
  return run;
}

TEST_CASE("a replay has the fresh directory of its own run, and that of no other one") {
  const daemon::TemporaryDirectory above;
  const std::string zeros("k.cu\0\1\0\0", 8);
  const auto cubin = [&](const std::string& name) { return Cubin(Table(above / name, zeros)); };
  above.Write("tmpabcdefgh/k.cu", "int a;");
  const auto contents =
      KeptRun::Encode({{cubin("tmpabcdefgh")}, "", ""}, Ptxas(above / "tmpabcdefgh"));
  REQUIRE(contents);
  // The file's state is another one.
  CHECK_FALSE(KeptRun::Decode(*contents, Ptxas(above / "tmpqwe_12zx")));
  above.Write("tmpqwe_12zx/k.cu", "int a;");
  const auto kept = KeptRun::Decode(*contents, Ptxas(above / "tmpqwe_12zx"));
  REQUIRE(kept);
  CHECK(kept->files == Words{cubin("tmpqwe_12zx")});
}

TEST_CASE("a cubin with other times than those of its files is not kept") {
  const daemon::TemporaryDirectory above;
  const std::string source = above.Write("k.cu", "int a;");
  const std::string times("k.cu\0\1\x80\x80\x80\x80\x01\x06", 12);
  const ToolRun run = Read("ptxas a.ptx -o a.cubin -lineinfo");
  CHECK_FALSE(KeptRun::Encode({{Cubin(Table(above.path(), times))}, "", ""}, run));
  std::string now = Cubin(Table(above.path(), times));
  REQUIRE(SetTimes(&now));
  CHECK(KeptRun::Encode({{now}, "", ""}, run));
  CHECK_FALSE(KeptRun::Encode({{"no cubin"}, "", ""}, run));
}

}  // namespace
}  // namespace cccl_cache::standin::kept_run_test

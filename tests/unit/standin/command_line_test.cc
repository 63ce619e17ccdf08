// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/command_line.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "client/standin/tool.h"

namespace cccl_cache::standin::command_line_test {
namespace {

/// Reads a command line. Its first word is the tool's name; blanks separate the words.
std::optional<ToolRun> Read(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return ReadToolRun(*FindTool(words[0], words), words);
}

bool Serves(const std::string& line) { return Read(line).has_value(); }

std::string WithBlanks(std::string ended) {
  std::ranges::replace(ended, '\0', ' ');
  return ended;
}

/// Returns the variables that are part of a key, with a blank after each.
std::string Counted(std::string_view tool, std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return WithBlanks(ReadEnvironment(*FindTool(tool, {}), variables.data()).part_of_key);
}

bool WritesMore(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return ReadEnvironment(*FindTool("ptxas", {}), variables.data()).writes_more;
}

TEST_CASE("only tools with an output that depends on nothing but their files are known") {
  CHECK(FindTool("ptxas", {}) != nullptr);
  CHECK(FindTool("ptxas-blackwell", {}) == FindTool("ptxas", {}));
  CHECK(FindTool("tileiras", {}) != nullptr);
  CHECK(FindTool("tileiras", {}) != FindTool("ptxas", {}));
  CHECK(FindTool("nvlink", {}) == nullptr);
  CHECK(FindTool("", {}) == nullptr);
}

TEST_CASE("the command line of cuda.tile is two files, and options in their order") {
  const auto read = Read("tileiras /t/k.bytecode -o /t/k.cubin --gpu-name sm_90 -O3 --lineinfo");
  REQUIRE(read);
  CHECK(read->name == "tileiras");
  CHECK(read->inputs == Words{"/t/k.bytecode"});
  CHECK(read->outputs == Words{"/t/k.cubin"});
  CHECK(WithBlanks(read->options) == "--gpu-name sm_90 -O3 --lineinfo ");
  CHECK(read->shown_paths.empty());
}

TEST_CASE("each tool has its own options") {
  CHECK(Serves("tileiras k -o o --lineinfo --arch=sm_90"));
  CHECK_FALSE(Serves("ptxas k -o o --lineinfo -arch=sm_90"));
  CHECK(Serves("ptxas k -o o -lineinfo -arch=sm_90"));
  CHECK_FALSE(Serves("tileiras k -o o -lineinfo --arch=sm_90"));
  CHECK_FALSE(Serves("tileiras k -o o -v"));
}

TEST_CASE("only the output of ptxas for debuggers shows paths") {
  CHECK(WithBlanks(Read("ptxas k -o o -g")->shown_paths) == "k ");
  CHECK(WithBlanks(Read("ptxas k -o o --device-debug")->shown_paths) == "k ");
  CHECK(Read("ptxas k -o o -lineinfo")->shown_paths.empty());
  CHECK(Read("tileiras k -o o --device-debug")->shown_paths.empty());
}

TEST_CASE("options by which tileiras reads or writes other files are not served") {
  REQUIRE(Serves("tileiras k -o o"));
  for (const char* option :
       {"-l p", "--apply-controls=p", "--remarks=all", "--remark-format=yaml",
        "--remarks-output-file=p", "--preview=simt", "--host-os=windows", "--no-such-option", "@p",
        "--gpu-name @p", "--gpu-name", "-O", "-O 3", "p", "-o p", "-"}) {
    CAPTURE(option);
    CHECK_FALSE(Serves(std::string("tileiras k -o o ") + option));
  }
  CHECK_FALSE(Serves("tileiras k"));
  CHECK_FALSE(Serves("tileiras -o o"));
  CHECK_FALSE(Serves("tileiras k -o @o"));
}

TEST_CASE("variables of a tool's helpers are part of the key for that tool alone") {
  const std::vector<const char*> variables = {"TILEIR_A=1", "PTXAS_A=1", "PATH=/", "LLVM_A=1"};
  CHECK(Counted("ptxas", variables) == "PTXAS_A=1 ");
  CHECK(Counted("tileiras", variables) == "LLVM_A=1 PTXAS_A=1 TILEIR_A=1 ");
  CHECK(Counted("tileiras", {"NVVM_A=1", "MLIR_A=1", "LIBNVVM_A=1", "FINALIZER_A=1"}) ==
        "FINALIZER_A=1 LIBNVVM_A=1 MLIR_A=1 NVVM_A=1 ");
}

TEST_CASE("variables with which tools write more files are detected") {
  CHECK_FALSE(WritesMore({"PATH=/", "PTXAS_A=1"}));
  for (const char* name :
       {"AS_SECURE_LOG_FILE", "CAN_FINALIZE_DEBUG", "DUMP_KNOBS_TO_FILE", "FINALIZER_CUBIE"}) {
    CAPTURE(name);
    const std::string variable = std::string(name) + "=p";
    CHECK(WritesMore({variable.c_str()}));
  }
}

}  // namespace
}  // namespace cccl_cache::standin::command_line_test

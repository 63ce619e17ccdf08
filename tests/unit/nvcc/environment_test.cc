// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/environment.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace cccl_cache::nvcc::environment_test {
namespace {

/// Returns the variables that are in the key, with a blank behind each.
std::string Counted(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  std::string text = ReadVariables(variables.data(), "/work");
  std::ranges::replace(text, '\0', ' ');
  return text;
}

std::string Unkept(const char* variable) {
  const char* const variables[] = {"PATH=/p", variable, nullptr};
  return UnkeptVariable(variables);
}

TEST_CASE("the variables that nvcc and the host compiler read are in the key") {
  CHECK(Counted({"HOME=/h", "PATH=/p", "NVCC_APPEND_FLAGS=x", "PTXAS_FLAGS=y", "LANG=C"}) ==
        "LANG=C NVCC_APPEND_FLAGS=x PATH=/p PTXAS_FLAGS=y ");
  CHECK(Counted({"CPATH=a", "CUDA_HOME=b", "LC_ALL=c", "GCC_COLORS=d", "SHELL=e", "PATHS=f"}) ==
        "CPATH=a CUDA_HOME=b GCC_COLORS=d LC_ALL=c ");
  CHECK(Counted({"TERM_URLS=a", "OUTPUT_CHARSET=b", "LOCPATH=c", "GCONV_PATH=d", "TERM=e"}) ==
        "GCONV_PATH=d LOCPATH=c OUTPUT_CHARSET=b TERM_URLS=a ");
}

TEST_CASE("functions and options of a shell are in the key") {
  CHECK(Counted({"BASH_FUNC_module%%=() { a; }", "SHELLOPTS=xtrace", "PS4=+", "PS1=$"}) ==
        "BASH_FUNC_module%%=() { a; } PS4=+ SHELLOPTS=xtrace ");
}

TEST_CASE("preloaded libraries are in the key, except for those of this project") {
  CHECK(Counted({"LD_PRELOAD=/x/libcccl_cache_exec.so:/y/libmine.so libother.so"}) ==
        "LD_PRELOAD=/y/libmine.so:libother.so: ");
  CHECK(Counted({"LD_AUDIT=/x/libcccl_cache_audit.so:/y/a.so"}) == "LD_AUDIT=/y/a.so: ");
  CHECK(Counted({"LD_PRELOAD=/x/libcccl_cache_exec.so", "LD_AUDIT=/x/libcccl_cache_audit.so"})
            .empty());
}

TEST_CASE("a PWD that is not the working directory is in the key") {
  CHECK(Counted({"PWD=/work"}).empty());
  CHECK(Counted({"PWD=/work/"}) == "PWD=/work/ ");
  CHECK(Counted({"PWD=/link"}) == "PWD=/link ");
}

TEST_CASE("a variable with options that depend on more than files is unkept") {
  CHECK(Unkept("PTXAS_FLAGS=-O1").empty());
  CHECK(Unkept("PTXAS_FLAGS=-O1 -split-compile=0") == "PTXAS_FLAGS");
  CHECK(Unkept("NVCC_APPEND_FLAGS=-arch=native") == "NVCC_APPEND_FLAGS");
  CHECK(Unkept("CXXFLAGS=-march=native").empty());
}

TEST_CASE("a shell's function in place of a program of nvcc is unkept") {
  CHECK(Unkept("BASH_FUNC_gcc%%=() { command gcc $MINE; }") == "BASH_FUNC_gcc%%");
  CHECK(Unkept("BASH_FUNC_ptxas%%=() { a; }") == "BASH_FUNC_ptxas%%");
  CHECK(Unkept("BASH_FUNC_module%%=() { a; }").empty());
}

TEST_CASE("a program is known by its file name, with a platform and a release") {
  for (const char* program :
       {"/usr/bin/g++", "/usr/bin/x86_64-linux-gnu-g++-12", "/a/cicc", "/bin/dash"}) {
    CHECK(IsKnownProgram(program));
  }
  for (const char* program : {"/usr/bin/ccache", "/usr/bin/mpicxx", "/usr/bin/clang-14"}) {
    CHECK_FALSE(IsKnownProgram(program));
  }
}

constexpr char kProfile[] = R"(
TOP              = $(_HERE_)/..
CICC_PATH        = $(TOP)/nvvm/bin
LD_LIBRARY_PATH += $(TOP)/lib:
# PTXAS_FLAGS   += $(OWN)
SYSTEM_INCLUDES += "-isystem" "$(TOP)/$(_TARGET_DIR_)/include/cccl" $(_SPACE_)
PTXAS_FLAGS     += -O2
)";

TEST_CASE("a profile as NVIDIA's is kept") { CHECK(UnkeptInProfile(kProfile).empty()); }

TEST_CASE(
    "a profile that reads a variable outside the key, or has options like -split-compile, is "
    "unkept") {
  for (const char* line :
       {"PTXAS_FLAGS += $(OWN)", "OWN += -O1", "OWN = 1", "PTXAS_FLAGS += $( TOP )",
        "PTXAS_FLAGS += ${TOP}", "INCLUDES += -I$(PWD)", "PTXAS_FLAGS += -O2 -split-compile=0",
        "NVVM_FLAGS=--options-file x"}) {
    INFO(line);
    CHECK(UnkeptInProfile(kProfile + std::string(line)) == line);
    CHECK(UnkeptInProfile(std::string(line) + kProfile) == line);
  }
}

}  // namespace
}  // namespace cccl_cache::nvcc::environment_test

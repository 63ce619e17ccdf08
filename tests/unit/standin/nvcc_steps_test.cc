// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <sstream>

#include "client/standin/command_line.h"
#include "client/standin/module_id.h"
#include "client/standin/temporary_name.h"
#include "client/standin/tool.h"

namespace cccl_cache::standin::nvcc_steps_test {
namespace {

constexpr char kCudafe[] =
    "cudafe++ --c++17 --orig_src_file_name k.cu --gen_c_file_name "
    "/tmp/tmpxft_000042ae_00000000-6_k.cudafe1.cpp --stub_file_name "
    "tmpxft_000042ae_00000000-6_k.cudafe1.stub.c --gen_module_id_file --module_id_file_name "
    "/tmp/tmpxft_000042ae_00000000-4_k.module_id /tmp/tmpxft_000042ae_00000000-5_k.cpp4.ii";
constexpr char kCicc[] =
    "cicc --c++17 -arch compute_90 --module_id_file_name m --gen_c_file_name k.c "
    "--stub_file_name k.stub.c --gen_device_file_name k.gpu k.ii -o k.ptx";

std::optional<ToolRun> Read(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return ReadToolRun(*FindTool(words[0], words), words);
}

TEST_CASE("a run of cudafe++ makes the module id that a run of cicc reads") {
  const auto cudafe = Read(kCudafe);
  REQUIRE(cudafe);
  CHECK(cudafe->inputs == Words{"/tmp/tmpxft_000042ae_00000000-5_k.cpp4.ii"});
  CHECK(cudafe->outputs == Words{"/tmp/tmpxft_000042ae_00000000-6_k.cudafe1.cpp",
                                 "/tmp/tmpxft_000042ae_00000000-4_k.module_id"});
  CHECK(cudafe->module_id == 1);
  const auto cicc = Read(kCicc);
  REQUIRE(cicc);
  CHECK(cicc->inputs == Words{"k.ii", "m"});
  CHECK(cicc->outputs == Words{"k.c", "k.stub.c", "k.gpu", "k.ptx"});
  CHECK_FALSE(cicc->module_id);
  const auto alone = Read(std::string(kCicc) + " --gen_module_id_file");
  REQUIRE(alone);
  CHECK(alone->inputs == Words{"k.ii"});
  CHECK(alone->module_id == 0);
  const auto ptx = Read("cicc --gen_module_id_file --module_id_file_name m k.ii -o k.ptx");
  REQUIRE(ptx);
  CHECK(ptx->inputs == Words{"k.ii"});
  CHECK(ptx->outputs == Words{"k.ptx"});
  CHECK_FALSE(ptx->module_id);
  CHECK_FALSE(Read("cicc --device-c --gen_module_id_file --module_id_file_name m k.ii -o k.ptx"));
}

TEST_CASE("runs of nvcc's steps that differ in temporary names have the same key") {
  std::string other = kCudafe;
  for (size_t at = other.find("42ae"); at != std::string::npos; at = other.find("42ae", at)) {
    other.replace(at, 4, "1058");
  }
  CHECK(Read(other)->options == Read(kCudafe)->options);
  CHECK(Read(other)->shown_paths == Read(kCudafe)->shown_paths);
  CHECK(Read("cudafe++ --gen_c_file_name a k.ii")->shown_paths !=
        Read("cudafe++ --gen_c_file_name b k.ii")->shown_paths);
}

constexpr char kHost[] = "g++ -c -x c++ -I/i -isystem /s -m64 t.cudafe1.cpp -o k.o";

TEST_CASE("a compile of host code is known by the file that cudafe++ wrote") {
  const auto read = Read(kHost);
  REQUIRE(read);
  CHECK(read->tool->drives);
  CHECK(read->inputs == Words{"t.cudafe1.cpp"});
  CHECK(read->outputs == Words{"k.o"});
  CHECK(FindTool("g++", {"g++", "-c", "k.cpp"}) == nullptr);
  CHECK(FindTool("cc1plus", {"cc1plus", "-quiet", "t.cudafe1.cpp"}) == nullptr);
}

TEST_CASE("options of a host compiler that read or write other files are not served") {
  const std::string host = kHost;
  REQUIRE(Read(host + " -fPIC -Wall -O3 -std=c++17 -DA=1 -march=native -g -fno-exceptions"));
  for (const char* option : {"-MD",
                             "-MMD -MF d",
                             "-save-temps",
                             "-flto",
                             "-fprofile-use",
                             "--coverage",
                             "-fplugin=p",
                             "-Wa,-a",
                             "-Wl,-s",
                             "-Wp,-MD,d",
                             "-gsplit-dwarf",
                             "-gz",
                             "-g3",
                             "-specs=s",
                             "-B/b",
                             "@p",
                             "-fdump-tree-all",
                             "-fno-working-directory",
                             "-fstack-usage",
                             "second.cpp"}) {
    CAPTURE(option);
    CHECK_FALSE(Read(host + " " + option));
  }
}

TEST_CASE("only relocatable device code has module ids that nvlink sees") {
  CHECK_FALSE(Read(kCudafe)->links_device_code);
  CHECK(Read(std::string(kCudafe) + " --device-c")->links_device_code);
}

TEST_CASE("options of nvcc's steps that are not known are not served") {
  REQUIRE(Read(kCicc));
  for (const char* option : {"--no-such-option", "-split-compile 4", "--fdevice-time-trace t",
                             "-o p", "p", "@p", "--orig_src_file_name", "-arch @p"}) {
    CAPTURE(option);
    CHECK_FALSE(Read(std::string(kCicc) + " " + option));
  }
  CHECK_FALSE(Read("cicc k.ii"));
  CHECK_FALSE(Read("cicc -o k.ptx"));
  CHECK_FALSE(Read("cicc -o tmpxft_XXXXXXXX_XXXXXXXX k.ii"));
}

TEST_CASE("only the temporary name of the run itself is replaced") {
  const auto name = TemporaryName::In("/tmp/tmpxft_000042ae_00000000-6_k.ptx");
  REQUIRE(name);
  const std::string text = "a tmpxft_000042ae_00000000-5 tmpxft_000042af_00000000 tmpxft_ b";
  const auto hidden = name->Hide(text);
  REQUIRE(hidden);
  CHECK(hidden->size() == text.size());
  CHECK(hidden->find("42ae") == std::string::npos);
  CHECK(hidden->find("42af") != std::string::npos);
  CHECK(name->Show(*hidden) == text);
  CHECK_FALSE(name->Hide(*hidden));
  CHECK_FALSE(TemporaryName().Hide(*hidden));
  CHECK_FALSE(TemporaryName().Show(*hidden));
  CHECK(TemporaryName().Show(text) == text);
}

TEST_CASE("names that only resemble nvcc's are no temporary names") {
  for (const char* word : {"", "tmpxft_", "tmpxft_000042ae_0000000", "tmpxft_000042AE_00000000",
                           "tmpxft_000042ae-00000000", "tmpxft_XXXXXXXX_XXXXXXXX"}) {
    CAPTURE(word);
    CHECK_FALSE(TemporaryName::In(word));
  }
}

TEST_CASE("a module id may have a process number if digits end it") {
  CHECK_FALSE(HasProcessNumber("_895f0410_4_k_cu__Z1kPf"));
  CHECK_FALSE(HasProcessNumber("_0ad94225_7_cubf_cu_362a72a2"));
  CHECK(HasProcessNumber("_1de14c8e_7_weak_cu_e7b49d4b_16210"));
  CHECK(HasProcessNumber("_1de14c8e_4_k_cu_f_1"));
  CHECK(HasProcessNumber(""));
}

/// Returns whether an id is local to an object that has this text in an unnamed namespace.
bool IsLocalWith(const std::string& text) {
  return IsLocal("_id_1", "int before;\nnamespace _GLOBAL__N__id_1 { }; using namespace x;\n" +
                              ("namespace _GLOBAL__N__id_1 __attribute__((a)) { \n" + text) +
                              "\n}\nstruct After { int a[1]; };\n");
}

TEST_CASE("the linker sees what unnamed namespaces declare, unless it is static") {
  CHECK(IsLocal("_id_1", "struct A { };\n#define _NV_ANON_NAMESPACE _GLOBAL__N__id_1\n"));
  CHECK(IsLocalWith("# 42 \"struct.h\"\nconstexpr inline __ignore_t ignore{}; \n# 43"));
  CHECK(IsLocalWith("static int f(int a) { return a; }\nstatic int b{1};"));
  for (const char* text :
       {"int q;", "static int b; int q;", "static int f() { } int g() { }", "struct X { int v; };",
        "class X;", "enum { a };", "union U { };", "template<class T> f();", "inline int v;",
        "static auto f = [](int a) { return a; };", "static char c = '}';",
        "static const char* s = \"}\";", "static int open() {"}) {
    CAPTURE(text);
    CHECK_FALSE(IsLocalWith(text));
  }
  CHECK_FALSE(IsLocal("_id_1", "namespace _GLOBAL__N__id_1"));
}

TEST_CASE("a file whose symbols have a process number fits no other run") {
  CHECK(FitsEveryRun("_ZN12_GLOBAL__N_13fooE", false));
  CHECK(FitsEveryRun("_ZN31_GLOBAL__N__12_4_k_cu__Z1kPf_a1TE", false));
  CHECK(FitsEveryRun("__nv_static_32__12_4_k_cu_34_567__Z1kv", false));
  CHECK_FALSE(FitsEveryRun("_ZN28_GLOBAL__N__12_4_k_cu_34_5671TE", false));
  CHECK_FALSE(FitsEveryRun("28_GLOBAL__N__12_4_k_cu_34_567", false));
  // Another name ends before the length.
  CHECK(FitsEveryRun("_ZN4cuda3__429_GLOBAL__N__12_4_k_cu_34_abcd6ignoreE", false));
  CHECK_FALSE(FitsEveryRun("_ZN4cuda3__429_GLOBAL__N__12_4_k_cu_34_56786ignoreE", false));
}

TEST_CASE("relocatable device code has a known id without a process number") {
  CHECK(FitsEveryRun(std::string("__cudaRegisterLinkedBinary_12_4_k_cu_f_a\0_1", 43), true));
  CHECK_FALSE(FitsEveryRun(std::string("__cudaRegisterLinkedBinary_12_4_k_cu_f_1\0_a", 43), true));
  CHECK_FALSE(FitsEveryRun("", true));
}

}  // namespace
}  // namespace cccl_cache::standin::nvcc_steps_test

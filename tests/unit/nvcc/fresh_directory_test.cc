// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/fresh_directory.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>

#include "client/nvcc/command_line.h"
#include "client/nvcc/trace.h"

namespace cccl_cache::nvcc::fresh_directory_test {
namespace {

using standin::FreshDirectory;

const std::string kDirectory = "/tmp/tmpabcdefgh";
const std::string kSource = kDirectory + "/k.cu";
const std::string kId = "_663a1252_4_k_cu_k";  // nvcc's for this source

std::optional<FreshDirectory> Of(const standin::Words& words,
                                 const std::string& working = "/work") {
  const auto step = ReadStep(words, "", "");
  REQUIRE(std::holds_alternative<Step>(step));
  return FreshDirectoryOf(words, std::get<Step>(step), working);
}

FreshDirectory In(const std::string& directory) {
  return *Of({"nvcc", "-cubin", "-o", directory + "/k.cubin", directory + "/k.cu"});
}

/// Returns whether a run with this preprocessed text depends on the path as a text only.
bool Fits(const std::string& text, const std::string& id = kId) {
  return ShowsPathOnly(In(kDirectory), {{"/tmp/a.cpp1.ii", text}, {"/tmp/a.module_id", id}});
}

TEST_CASE("a directory is fresh if its name is one of tempfile or of DeepGEMM") {
  const auto fresh = [](const std::string& directory) {
    return Of({"nvcc", "-cubin", "-o", "k.cubin", directory + "/k.cu"}).has_value();
  };
  CHECK(fresh("/tmp/tmpabcdefgh"));
  CHECK(fresh("/tmpab_01289"));
  CHECK_FALSE(fresh("/tmp/tmpabcdefg"));
  CHECK_FALSE(fresh("/tmp/tmpabcdefghi"));
  CHECK_FALSE(fresh("/tmp/xtmpabcdefgh"));
  CHECK_FALSE(fresh("/tmp/tmpABCDEFGH"));
  CHECK_FALSE(fresh("tmpabcdefgh"));
  CHECK_FALSE(fresh("/tmp/tmpabcdefgh/more"));
  CHECK_FALSE(fresh(""));
  CHECK(fresh("/tmp/1-01234567-89abcdef-00000000"));
  CHECK(fresh("/tmp/4194304-01234567-89abcdef-00000000"));
  CHECK_FALSE(fresh("/tmp/-01234567-89abcdef-00000000"));
  CHECK_FALSE(fresh("/tmp/12345678-01234567-89abcdef-00000000"));
  CHECK_FALSE(fresh("/tmp/12-1234567-89abcdef-00000000"));
  CHECK_FALSE(fresh("/tmp/12-01234567-89ABCDEF-00000000"));
  CHECK_FALSE(fresh("/tmp/12-01234567-89abcdef-000000000"));
  CHECK_FALSE(fresh("/tmp/12-01234567-89abcdef"));
}

TEST_CASE("a placeholder shows the form and the length of the name") {
  CHECK(In("/tmp/tmpabcdefgh").placeholder() == "tmpXXXXXXXX");
  CHECK(In("/tmp/123-01234567-89abcdef-00000000").placeholder() ==
        "XXX-XXXXXXXX-XXXXXXXX-XXXXXXXX");
}

TEST_CASE("a source is in the working directory if its name is relative") {
  const auto fresh = [](const std::string& working, const std::string& source) {
    return Of({"nvcc", "-cubin", source}, working).has_value();
  };
  CHECK(fresh(kDirectory, "k.cu"));
  CHECK(fresh(kDirectory, kSource));
  CHECK_FALSE(fresh(kDirectory, "more/k.cu"));
  CHECK_FALSE(fresh("/work", "../tmp/tmpabcdefgh/k.cu"));
  CHECK_FALSE(fresh(kDirectory, "/work/k.cu"));
  CHECK_FALSE(fresh("/var/tmpabcdefgh", kSource));
  CHECK_FALSE(fresh(kDirectory + "/tmpabcdefgh", kSource));
}

TEST_CASE("a fresh directory is hidden only where source and output have its name") {
  CHECK(Of({"nvcc", "-cubin", kSource, "-o", kDirectory + "/k.cubin", "-lineinfo"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", kSource, "-o", "k", "-I" + kDirectory}));
  CHECK_FALSE(Of({"nvcc", "-cubin", kSource, "-o", "k", "-DNAME=tmpabcdefgh"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", kSource, "-o", "tmpabcdefgh"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", kSource, "-o", kDirectory + "/tmpabcdefgh"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", "/tmp/tmpabcdefgh/tmpabcdefgh/k.cu", "-o", "k"}));
}

TEST_CASE("only a single cubin is made in a fresh directory") {
  CHECK_FALSE(Of({"nvcc", "-c", kSource, "-o", "k"}));
  CHECK_FALSE(Of({"nvcc", "-fatbin", kSource, "-o", "k"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", "-MD", kSource, "-o", "k"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", kSource, kDirectory + "/l.cu"}));
  CHECK_FALSE(Of({"nvcc", "-cubin", kDirectory + "/k.ptx", "-o", "k"}));
}

TEST_CASE("a hidden text is shown with the name and hash of another directory") {
  const std::string text =
      kSource + "(3) " + kDirectory + std::string("\0", 1) + kId + "1_663a12523";
  const auto hidden = In(kDirectory).Hide(text);
  REQUIRE(hidden);
  CHECK(hidden->size() == text.size());
  CHECK(In(kDirectory).Show(*hidden) == text);
  const FreshDirectory other = In("/tmp/tmpqwe_12zx");
  CHECK(other.Show(*hidden) == "/tmp/tmpqwe_12zx/k.cu(3) /tmp/tmpqwe_12zx" + std::string("\0", 1) +
                                   "_c52d8f3b_4_k_cu_k1_663a12523");
  CHECK(other.Hide(other.Show(*hidden)) == hidden);
  CHECK(In("/tmp/12-01234567-89abcdef-00000000").Show("XX-XXXXXXXX-XXXXXXXX-XXXXXXXX/k.cu") ==
        "12-01234567-89abcdef-00000000/k.cu");
}

TEST_CASE("the hash of the source's time and the working directory has a placeholder, too") {
  REQUIRE(setenv("TZ", "UTC", 1) == 0);
  tzset();
  FreshDirectory fresh = In(kDirectory);
  const std::string id = "_663a1252_4_k_cu_8bb61e11_4711";  // nvcc's for this time and directory
  CHECK_FALSE(fresh.IsInModuleId(id));
  fresh.HashTime(1'700'000'000, "/");
  CHECK(fresh.IsInModuleId(id));
  CHECK_FALSE(fresh.IsInModuleId("_663a1252_4_k_cu_8bb61e12_4711"));
  CHECK(fresh.IsInModuleId("_663a1252_4_k_cu_kernel_4711"));
  CHECK(fresh.Hide(id) == "_XXXXXXXX_4_k_cu_YYYYYYYY_4711");
  CHECK_FALSE(fresh.IsInMarkersOnly("int x_8bb61e11_y;\n"));
  FreshDirectory other = In("/tmp/tmpqwe_12zx");
  other.HashTime(1'700'000'001, "/");
  CHECK(other.Show(*fresh.Hide(id)) == "_c52d8f3b_4_k_cu_471c1e8f_4711");
  unsetenv("TZ");
}

TEST_CASE("another directory of tempfile beside this one is noticed") {
  const FreshDirectory fresh = In(kDirectory);
  CHECK(fresh.HasSibling("x /tmp/tmpother_01/k.cu"));
  CHECK_FALSE(fresh.HasSibling(kSource));
  CHECK_FALSE(fresh.HasSibling("/tmp/other /opt/tmpother_01 /tmp/tmpother /tmp/"));
  const FreshDirectory numbered = In("/tmp/12-01234567-89abcdef-00000000");
  CHECK(numbered.HasSibling("/tmp/34-01234567-89abcdef-00000000/k.cu"));
  CHECK_FALSE(numbered.HasSibling("/tmp/345-01234567-89abcdef-00000000 /tmp/tmpother_01"));
}

TEST_CASE("a text that has the name elsewhere, or a placeholder, can't be hidden") {
  const FreshDirectory fresh = In(kDirectory);
  CHECK(fresh.Hide("").has_value());
  for (const char* text :
       {"tmpabcdefgh", "/tmpabcdefgh/", "/var/tmpabcdefgh/", "/tmp/tmpabcdefgh2/",
        "/tmp/tmpabcdefgh k", "/tmp/tmpXXXXXXXX/k.cu", "4_XXXXXXXX_4", "4_YYYYYYYY_4"}) {
    INFO(text);
    CHECK_FALSE(fresh.Hide(text));
  }
}

TEST_CASE("a preprocessed text may have the path in line markers only") {
  const std::string markers = "# 0 \"" + kSource + "\"\nint a;\n# 12 \"" + kSource + "\" 2 3\n";
  CHECK(Fits(markers));
  CHECK(Fits("int a;\n"));
  for (const std::string& more :
       {"const char* file = \"" + kSource + "\";\n", std::string("int tmpabcdefgh;\n"),
        "#pragma message \"" + kSource + "\"\n", std::string("# 1 \"/there/tmpabcdefgh/k.cu\"\n"),
        "# 1 \"" + kDirectory + "/tmpabcdefgh.h\"\n", "  # 1 \"" + kSource + "\"\n",
        "# \"" + kSource + "\"\n", std::string("int a = f(__builtin_FILE());\n"),
        std::string("auto a = __builtin_source_location();\n"), std::string("int x_663a1252_y;\n"),
        std::string("int tmpXXXXXXXX;\n"), std::string("int a_XXXXXXXX_;\n")}) {
    INFO(more);
    CHECK_FALSE(Fits(markers + more));
    CHECK_FALSE(Fits(more + markers));
  }
}

TEST_CASE("an assert() of glibc in another file does not ask for the path") {
  const std::string end =
      "__builtin_FILE (), __builtin_LINE (), __extension__ __PRETTY_FUNCTION__))";
  const std::string here = "# 1 \"" + kSource + "\"\n";
  const std::string there = "# 7 \"/usr/include/a.h\"\n";
  const std::string marked = there + "  ) ? void (0) : __assert_fail (\n" + there +
                             "  \"a\\\"\"\n" + there + "  , " + end + "\n" + there + ";\n";
  const std::string short_form = "(a ? void (0) : __assert_fail (\"a > 0\", " + end + ";\n";
  CHECK(Fits(here + marked + here));
  CHECK(Fits(here + there + short_form + short_form));
  const std::string declared = "extern void __assert_fail (const char *, const char *,\n";
  CHECK(Fits(here + there + declared + short_form));
  const std::string begin = "? void (0) : __assert_fail (";
  for (const std::string& text :
       {short_form, here + short_form, here + there + marked + here + short_form,
        here + there + "? void (0) : f (\"a\", " + end + ";\n",
        here + there + "__assert_fail (\"a\", " + end + ";\n",
        here + there + "? void (0) : q::__assert_fail (\"a\", " + end + ";\n",
        here + there + "? void (0) : my__assert_fail (\"a\", " + end + ";\n",
        here + there + begin + "s, " + end + ";\n",
        here + there + begin + "\"a\", hash(\"b\"), " + end + ";\n",
        here + there + begin + "\"a\", __builtin_FILE ());\n",
        here + there + short_form + "f(__builtin_FILE ());\n",
        here + there + "constexpr void __assert_fail (const char *);\n" + short_form,
        here + there + "extern constexpr void __assert_fail (const char *);\n" + short_form}) {
    INFO(text);
    CHECK_FALSE(Fits(text));
  }
}

TEST_CASE("a module id without the hash of the path is not understood") {
  CHECK_FALSE(Fits("int a;\n", "_c52d8f3b_4_k_cu_k"));
  CHECK_FALSE(Fits("int a;\n", "663a1252_4_k_cu_k"));
  CHECK_FALSE(Fits("int a;\n", ""));
  CHECK_FALSE(ShowsPathOnly(In(kDirectory), {}));
  CHECK_FALSE(ShowsPathOnly(In(kDirectory), {{"/tmp/a.module_id", kId}}));
  CHECK_FALSE(ShowsPathOnly(In(kDirectory), {{"/tmp/a.cpp1.ii", "int a;\n"}}));
}

TEST_CASE("PTX may have the path in the names of files only") {
  const std::string files = "\t.file\t1 \"/there/a.h\"\n.file 2 \"" + kSource + "\"\n";
  const auto fits = [](const std::string& ptx) {
    const auto fresh = FreshDirectory::InPtx(ptx);
    return fresh && fresh->IsInFilesOnly(ptx);
  };
  CHECK(fits(files));
  CHECK(fits(".version 9.0\n" + files + ".loc 1 2 3\n"));
  CHECK_FALSE(fits(".file 1 \"/there/a.cu\"\n"));
  CHECK_FALSE(fits(".file"));
  for (const std::string& more :
       {"// " + kSource + "\n", std::string(".visible .entry tmpabcdefgh()\n"),
        std::string(".file 3 \"/there/tmpabcdefgh/k.cu\"\n"), ".file \"" + kSource + "\"\n",
        std::string(".global .b8 x_663a1252_y;\n"), std::string("// tmpXXXXXXXX\n")}) {
    INFO(more);
    CHECK_FALSE(fits(files + more));
  }
}

}  // namespace
}  // namespace cccl_cache::nvcc::fresh_directory_test

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/source_scan.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::source_scan_test {
namespace {

using namespace std::string_literals;

TEST_CASE("a time token is found as a whole identifier only") {
  CHECK(ScanText("x = __TIME__;").time_token == "__TIME__");
  CHECK(ScanText("__TIMESTAMP__").time_token == "__TIMESTAMP__");
  CHECK(ScanText("MY__DATE__").time_token == "");
  CHECK(ScanText("__DATE__S __DATE__").time_token == "__DATE__");
  CHECK(ScanText("$__DATE__$").time_token == "__DATE__");  // NVRTC allows no $ in identifiers
  CHECK(ScanText("").time_token == "");
}

TEST_CASE("an identifier is found as a whole even across blocks of 64 characters") {
  for (size_t before = 0; before <= 140; ++before) {
    for (const size_t behind : {0, 1, 63, 64, 65, 130}) {
      INFO(before << " characters before, " << behind << " behind");
      const std::string blanks(before, ' ');
      const std::string words(before, 'x');
      const std::string end(behind, ' ');
      CHECK(ScanText(blanks + "__TIMESTAMP__" + end).time_token == "__TIMESTAMP__");
      CHECK(ScanText(words + " __FILE__" + end).path_token);
      CHECK(ScanText(blanks + "/cccl-root-" + end).path_token);
      if (before == 0) continue;
      CHECK(ScanText(words + "__TIMESTAMP__" + end).time_token.empty());
      CHECK_FALSE(ScanText(blanks + "__FILE__" + std::string(behind + 1, 'x')).path_token);
      CHECK_FALSE(ScanText(blanks + "cccl-root-" + end).path_token);
    }
  }
}

TEST_CASE("static_assert is not assert") {
  CHECK_FALSE(ScanText("static_assert(true);").path_token);
  CHECK(ScanText("assert(x);").path_token);
  CHECK(ScanText("std::source_location::current()").path_token);
  CHECK(ScanText("f(__FILE__)").path_token);
  CHECK(ScanText("sizeof(_CCCL_BUILTIN_FILE())").path_token);
  CHECK(ScanText("#warning \"/cccl-root-1/x\"").path_token);
}

TEST_CASE("__BASE_FILE__ is reported separately from other path tokens") {
  CHECK(ScanText("__FILE__ __BASE_FILE__").base_name_token);
  CHECK(ScanText("__BASE_\\\nFILE__").base_name_token);
  CHECK(ScanText("__BASE_FILE__").path_token);
  CHECK_FALSE(ScanText("__FILE__ MY__BASE_FILE__").base_name_token);
}

TEST_CASE("__PRETTY_FUNCTION__ counts as used in code unless it is in a #define") {
  const auto in_code = [](std::string_view text) {
    CHECK(ScanText(text).function_token);
    return ScanText(text).function_token_in_code;
  };
  CHECK(in_code("return __PRETTY_FUNCTION__;"));
  CHECK_FALSE(in_code("#define NAME() __PRETTY_FUNCTION__"));
  CHECK_FALSE(in_code("int x;\n #  define NAME() \\\n f(__PRETTY_FUNCTION__)\nint y;\n"));
  CHECK(in_code("#define A\nf(__PRETTY_FUNCTION__)"));
  CHECK(in_code("#define A __PRETTY_FUNCTION__\n\nf(__PRETTY_FUNCTION__)"));
  CHECK(in_code("#if 1 // __PRETTY_FUNCTION__"));
  CHECK_FALSE(ScanText("__PRETTY_FUNCTION__S __FUNCTION__").function_token);
}

TEST_CASE("a token that is split over two lines is found") {
  CHECK(ScanText("__DA\\\nTE__").time_token == "__DATE__");
  CHECK(ScanText("__DA\\\r\nTE__").time_token == "__DATE__");
  CHECK(ScanText("#define X \\\n __FI\\\nLE__").path_token);
  CHECK_FALSE(ScanText("a\\\nb \\n").path_token);
}

TEST_CASE("a name that can be pasted from a text's identifiers is found") {
  const auto pasted = [](std::string_view text) {
    CHECK(ScanText(text).may_paste);
    return PastedNames(PartsIn(text));
  };
  CHECK(pasted("C2(__FI, LE__)").path_token);
  CHECK(pasted("C2(__builtin_, FILE)()").path_token);
  CHECK(pasted("C3(C3(_, _), F, I) C3(C2(L, E), _, _)").path_token);
  CHECK(pasted("C2(__F\\\nI, LE__)").path_token);
  CHECK(pasted("C2(__FI?\?/\nLE__)").path_token);
  CHECK(pasted("C2(__BASE, _FILE__)").base_name_token);
  CHECK(pasted("C2(__TI, ME__)").time_token == "__TIME__");
  CHECK(pasted("C3(__, DATE, __)").time_token == "__DATE__");
  CHECK(pasted("#define P __PRETTY_\nC2(P, FUNCTION__)").function_token);
  CHECK(pasted("C2(ass, ert)(x)").path_token);
  CHECK(pasted("C2(a, ssert)(x)").path_token);
  CHECK(pasted("#define __annotate__(a) a##__\n__location__(FILE)").path_token);
  CHECK_FALSE(pasted("C2(__FI, LE__)").base_name_token);
  CHECK(pasted("C2(__FI, LE__)").time_token.empty());
}

TEST_CASE("ordinary texts can paste no names") {
  const TextTraits pasted =
      PastedNames(PartsIn("FI(A, T) template <class D, class E> s[a] = e(r, t); // TIME, as it's"));
  CHECK(pasted.time_token.empty());
  CHECK_FALSE(pasted.path_token);
  CHECK_FALSE(pasted.base_name_token);
  CHECK_FALSE(pasted.function_token);
  // The parts in all of CUTLASS.
  CHECK(PastedNames(PartsIn("D A T E AT TE TA I M __F _ n_ source in")).time_token.empty());
}

std::string Preamble(const std::string& text) { return text.substr(0, PreambleLength(text)); }

TEST_CASE("a preamble ends with the last leading include") {
  CHECK(Preamble("#define X 1\n#include <a>\n#define Y 1\nint x;\n#include <b>\n") ==
        "#define X 1\n#include <a>\n");
  CHECK(Preamble("\n// c\n/* d\n e */ #include <a>\n\n// why\nint x;\n") ==
        "\n// c\n/* d\n e */ #include <a>\n");
  CHECK(Preamble("#include <a>") == "#include <a>");
  CHECK(Preamble("#\n#undef Y\r\n # /* c */ include <a>\r\n#undef Z\r\nint x;") ==
        "#\n#undef Y\r\n # /* c */ include <a>\r\n");
}

TEST_CASE("a program without leading includes has no preamble") {
  for (const char* text : {"", "int x;\n#include <a>\n", "#define X\n", "// #include <a>\n", "/* #",
                           "#pragma once\n#include <a>\n", "#", "#if 1\n#include <a>\n"}) {
    CHECK(PreambleLength(text) == 0);
  }
}

TEST_CASE("an open #if is no part of a preamble") {
  CHECK(Preamble("#include <a>\n#ifdef X\n#include <b>\nint x;\n#endif\n") == "#include <a>\n");
  const std::string closed =
      "#ifdef X\n#include <b>\n#elif Y\n#if Z\n#define A\n#endif\n#else\n#include <c>\n#endif\n";
  CHECK(Preamble(closed + "int x;\n") == closed);
  CHECK(Preamble("#include <a>\n#endif\n#include <b>\n") == "#include <a>\n");
  CHECK(Preamble("#include <a>\n#if X\n#define Y\n#endif\nint x;\n") == "#include <a>\n");
}

TEST_CASE("directives continue over joined lines, comments and literals") {
  for (const char* directive :
       {"#define X \\\n  int x;\n", "#define X \\\r\n  int x;\n", "#define X /* a\n int y; */ 1\n",
        "#define X \"/*\"\n", "#define X '\"'\n", "#define X \"\\\"/*\"\n", "#inc\\\nlude <b>\n",
        "#define X // y\\\n int z;\n"}) {
    const std::string preamble = directive + "#include <a>\n"s;
    CHECK(Preamble(preamble + "int x;\n") == preamble);
  }
}

TEST_CASE("any other line ends a preamble") {
  for (const char* line :
       {"#pragma once\n", "#error x\n", "#line 3\n", "# 12 \"a\"\n", "#import <b>\n",
        "#includes <b>\n", "#define X /* a\n", "%: include <b>\n"}) {
    CHECK(Preamble("#include <a>\n"s + line + "#include <c>\n") == "#include <a>\n");
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::source_scan_test

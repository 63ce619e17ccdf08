// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/closure/source_scan.h"

namespace cccl_cache::daemon {
namespace {

using namespace std::string_literals;

/// What of the text is preamble.
std::string Preamble(const std::string& text) { return text.substr(0, PreambleLength(text)); }

TEST_CASE("a preamble ends with the last leading directive") {
  CHECK(Preamble("#include <a>\n#define X 1\nint x;\n#include <b>\n") ==
        "#include <a>\n#define X 1\n");
  CHECK(Preamble("\n// c\n/* d\n e */ #include <a>\n\n// why\nint x;\n") ==
        "\n// c\n/* d\n e */ #include <a>\n");
  CHECK(Preamble("#include <a>") == "#include <a>");
  CHECK(Preamble("#\n # /* c */ include <a>\r\n#undef Y\r\nint x;") ==
        "#\n # /* c */ include <a>\r\n#undef Y\r\n");
}

TEST_CASE("a program without leading includes has no preamble") {
  for (const char* text : {"", "int x;\n#include <a>\n", "#define X\n", "// #include <a>\n", "/* #",
                           "#pragma once\n#include <a>\n", "#", "#if 1\n#include <a>\n"}) {
    CHECK(PreambleLength(text) == 0);
  }
}

TEST_CASE("an open condition is no part of a preamble") {
  CHECK(Preamble("#include <a>\n#ifdef X\n#include <b>\nint x;\n#endif\n") == "#include <a>\n");
  const std::string closed =
      "#ifdef X\n#include <b>\n#elif Y\n#if Z\n#define A\n#endif\n#else\n#include <c>\n#endif\n";
  CHECK(Preamble(closed + "int x;\n") == closed);
  CHECK(Preamble("#include <a>\n#endif\n#include <b>\n") == "#include <a>\n");
}

TEST_CASE("directives go on over joined lines, comments and literals") {
  for (const char* directive :
       {"#define X \\\n  int x;\n", "#define X \\\r\n  int x;\n", "#define X /* a\n int y; */ 1\n",
        "#define X \"/*\"\n", "#define X '\"'\n", "#define X \"\\\"/*\"\n", "#inc\\\nlude <b>\n",
        "#define X // y\\\n int z;\n"}) {
    const std::string preamble = "#include <a>\n"s + directive;
    CHECK(Preamble(preamble + "int x;\n") == preamble);
  }
}

TEST_CASE("what is no directive of these ends a preamble") {
  for (const char* line :
       {"#pragma once\n", "#error x\n", "#line 3\n", "# 12 \"a\"\n", "#import <b>\n",
        "#includes <b>\n", "#define X /* a\n", "%: include <b>\n"}) {
    CHECK(Preamble("#include <a>\n"s + line + "#include <c>\n") == "#include <a>\n");
  }
}

}  // namespace
}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/path_uses.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "daemon/core/closure/cccl_lines.h"

namespace cccl_cache::daemon::path_uses_test {
namespace {

PathUses In(std::string_view text) { return PathUsesIn(text, false); }
PathUses InCccl(std::string_view text) { return PathUsesIn(text, true); }

bool ShowsTextAlone(const PathUses& uses) { return uses.as_text && !uses.ShowMoreThanText(); }

TEST_CASE("an assertion in a file shows its path as text") {
  CHECK(ShowsTextAlone(In("void f(int i) { assert(i > 0); }")));
  CHECK(ShowsTextAlone(In("#include <cassert>\n#ifdef assert\n#endif\nvoid f() { assert (1); }")));
  CHECK(ShowsTextAlone(In("void f() { if (g()) { assert(h(1) && \")\" && ')' /* ) */); } }")));
  CHECK(ShowsTextAlone(
      In("void f(int i) { assert(i < 1'000);\n auto c = u8'('; auto s = R\"x(()\")x\"; }")));
  CHECK(ShowsTextAlone(In("#if A\nint f(\n#else\nint g(\n#endif\nint i) { assert(i); }")));
  CHECK_FALSE(In("// assert(1)\n/* S(assert(1)) */ static_assert(1);").as_text);
  CHECK_FALSE(In("#define assert(x)\n").ShowMoreThanText());
}

TEST_CASE("an assertion that a macro can turn into a literal shows more than text") {
  for (const char* text : {
           "#define S(x) #x\n#define X(x) S(x)\nint n = sizeof(X(assert(1)));",
           "#define BODY assert(1)\n",
           "%:define BODY assert(1)\n",
           "#define CALL(f) f(1)\nvoid g() { CALL(assert); }",
           "#pragma unroll sizeof(X(assert(1)))\n",
           "assert(1) );",
           "( assert(1)",
           "#if 0\n(\n#endif\nassert(1) )",
           "assert(1) ) (",
           "#if A\nX(\n#else\n#endif\nassert(1)\n#if A\n#else\n(\n#endif\n)",
           "X(\n#if A\n)\n#endif\nassert(1)\n#if A\n(\n#endif\n)",
           "void f() { assert(1); }\nint n = X(\n#include \"other.h\"\n);",
           "#define __LINE__ 7\nvoid f() { assert(1); }",
           "#define static_cast\nvoid f() { assert(1); }",
           "#define NV_IF_ELSE_TARGET(c, a, b) S(b)\nvoid f() { assert(1); }",
           "int n = X(\\\nassert(1));",
           "#include <a/*b>\nint n = X(assert(1)); /* */",
           "#if __has_include(<a/*b>)\n#endif\nint n = X(assert(1)); /* */",
           "?\?=define BODY assert(1)\n",
           "X(\n// ?\?/\n)\nassert(1)\n// ?\?/\n(\n)",
           "int n = X($assert(1)$);",
           "int n = X(a?\?/\nssert(1));",
           "int n = 1 ?\?' sizeof(X(assert(1)));",
           "X( ?\?) assert(1) ?\?( )",
           "E(1'a') int n = X(assert(1)); //'",
           "int n = X(1p+assert(1));",
           "auto s = PREFIXR\"(\"; int n = X(assert(1)); auto t = \")\";",
           "_Pragma(\"unroll sizeof(X(assert(1)))\")",
           "int n = X(\n#include_next <other.h>\n); void f() { assert(1); }",
       }) {
    INFO(text);
    CHECK(In(text).ShowMoreThanText());
  }
}

TEST_CASE("an assertion shows more than text if another text may include it in an argument") {
  PathUses uses = In("void f() { assert(1); }");
  CHECK_FALSE(uses.ShowMoreThanText());
  uses |= In("int n = X(\n#include \"asserts.h\"\n);");
  CHECK(uses.ShowMoreThanText());
}

TEST_CASE("a name that shows a path counts in code and in literals, and not in a comment") {
  for (const std::string word : {"__FILE__", "__builtin_FILE", "__BASE_FILE__", "source_location",
                                 "__assertfail", "__assert_fail", "__ASSERT_STR_HELPER"}) {
    INFO(word);
    CHECK(In("auto x = " + word + ";").as_number);
    CHECK(In("_Pragma(\"unroll sizeof(" + word + ")\")").as_number);
    CHECK(In("#define X " + word + "\n").as_number);
    CHECK(In("#error don't /*\nint n = sizeof(" + word + "); //*/").as_number);
    CHECK(In("auto s = R\"(" + word + ")\";").as_number);
    CHECK_FALSE(In("// " + word + "\n/* " + word + " */ int x;").as_number);
  }
}

TEST_CASE("CCCL's lines that name a path show it as text in CCCL's own files") {
  for (const std::string_view line : kCcclLines) {
    INFO(line);
    CHECK(ShowsTextAlone(InCccl(line)));
    CHECK(In(line).as_number);
    CHECK(InCccl(std::string(line) + " + 1").as_number);
  }
  CHECK(ShowsTextAlone(InCccl("#  define _CCCL_BUILTIN_FILE() \\\n   __FILE__ // here\n")));
  CHECK(InCccl("#  define _CCCL_BUILTIN_FILE() sizeof(__FILE__)\n").as_number);
  CHECK(ShowsTextAlone(InCccl("NV_IF_TARGET(NV_IS_DEVICE, (_CCCL_ASSERT(i, \"\");))")));
  CHECK(In("int n = X(_CCCL_ASSERT(i, \"\"));").as_number);
}

TEST_CASE("a file is CCCL's if it is in a directory of CCCL and has a macro of CCCL") {
  constexpr std::string_view kText = "_CCCL_BEGIN_NAMESPACE_CUDA_STD";
  CHECK(IsOfCccl("cuda/std/array", kText));
  CHECK(IsOfCccl("cub/cub.cuh", "CUB_NAMESPACE_BEGIN"));
  CHECK(IsOfCccl("cub/block/../util_ptx.cuh", kText));
  CHECK_FALSE(IsOfCccl("cub", kText));
  CHECK_FALSE(IsOfCccl("mine/cuda/std/array", kText));
  CHECK_FALSE(IsOfCccl("cuda/../mine/a.h", kText));
  CHECK_FALSE(IsOfCccl("cuda/mine.h", "int n = sizeof(X(assert(1)));"));
}

TEST_CASE("parts of names are collected from code, and from literals that a pragma may contain") {
  const auto has = [](std::string_view text, std::string_view part) {
    NameParts parts;
    parts.Add(part);
    PathUses with = In(text);
    return (with.parts |= parts) == In(text).parts;
  };
  CHECK(has("C2(__FI, LE__)", "__FI"));
  CHECK(has("_Pragma(\"unroll sizeof(C2(__FI, LE__))\")", "__FI"));
  CHECK_FALSE(has("// __FI", "__FI"));
  CHECK_FALSE(has("asm(\"arrive.b64 _, [%0];\");", "_"));
}

TEST_CASE("an invalid delimiter begins no raw literal") {
  const auto with = [](const std::string& delimiter) {
    return In("auto s = R\"" + delimiter + "()" + delimiter + "\";");
  };
  CHECK_FALSE(with(std::string(16, 'x')).doubts_assertions);
  CHECK(with(std::string(17, 'x')).doubts_assertions);
}

}  // namespace
}  // namespace cccl_cache::daemon::path_uses_test

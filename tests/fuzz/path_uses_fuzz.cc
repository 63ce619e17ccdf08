// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/closure/path_uses.h"
#include "tests/fuzz/seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cccl_cache::daemon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PathUses uses = PathUsesIn(text, false);
  const TextTraits words = ScanText(text);
  // Each use is also found by a search for words, unless a trigraph may divide a word.
  const bool divided = text.find("?\?/\n") != text.npos || text.find("?\?/\r\n") != text.npos;
  const bool named = words.path_token || words.assertion || divided;
  if ((uses.as_number || uses.as_text) && !named) abort();
  NameParts parts = PartsIn(text);
  if (!((parts |= uses.parts) == PartsIn(text))) abort();
  // A use as a number that is found in a header of CCCL is found in other headers too.
  if (PathUsesIn(text, true).as_number && !uses.as_number) abort();
  return 0;
}

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {
      "#define S(x) #x\nint n = sizeof(S(assert(1)));\n",
      "#if A\nf(\n#else\ng(\n#endif\n1); /* __FILE__ */ // x\n#include <a/*b>\n",
      "auto r = R\"x(__FILE__)x\"; char c = u8'('; int i = 1'000;\n",
      "#define _CCCL_BUILTIN_FILE() \\\n  __FILE__\n_Pragma(\"unroll sizeof(C2(__FI, LE__))\")\n"};
}

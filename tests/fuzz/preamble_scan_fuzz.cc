// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/core/closure/source_scan.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::PartsIn;
using cccl_cache::daemon::ScanText;
using cccl_cache::daemon::TextTraits;

/// Checks that leading blanks, which shift words across the ends of scanned blocks, change nothing.
void CheckThatBlanksChangeNothing(std::string_view text) {
  const TextTraits traits = ScanText(text);
  const std::string moved = std::string(text.size() % 64 + 1, ' ') + std::string(text);
  if (!(ScanText(moved) == traits) || !(PartsIn(moved) == PartsIn(text))) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t length = cccl_cache::daemon::PreambleLength(text);
  if (length > size) abort();
  CheckThatBlanksChangeNothing(text);
  // The preamble of a preamble is the whole text.
  if (cccl_cache::daemon::PreambleLength(text.substr(0, length)) != length) abort();
  return 0;
}

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {
      "#include <a>\n#define X 1\nint x;\n", "// c\n/* d */ # include \"a\"\n",
      "#ifdef X\n#include <b>\n#else\n#include <c>\n#endif\n", "#define X \\\n \"/*\" '\"'\n",
      "f(__FILE__, __TIME__, \"/cccl-root-1\")\n#define N __PRETTY_FUNCTION__\nC2(__FI, LE__)\n"};
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/fingerprint.h"

namespace {

using namespace cccl_cache;

/// Cuts the input into texts, each with its length in one byte before it.
class Cutter {
 public:
  explicit Cutter(std::string_view input) : input_(input) {}

  bool More() const { return !input_.empty(); }
  std::string Text() {
    if (input_.empty()) return {};
    const size_t length = std::min<size_t>(static_cast<uint8_t>(input_[0]), input_.size() - 1);
    std::string text(input_.substr(1, length));
    input_.remove_prefix(1 + length);
    return text;
  }

 private:
  std::string_view input_;
};

NvrtcProgram Program(Cutter& cutter) {
  NvrtcProgram program;
  program.source = cutter.Text();
  program.name = cutter.Text();
  while (cutter.More()) {
    program.headers.push_back({cutter.Text(), cutter.Text()});
    program.name_expressions.push_back(cutter.Text());
    program.options.push_back(cutter.Text());
  }
  return program;
}

Digest Of(const NvrtcProgram& program, const std::vector<ParsedOption>& options) {
  BuildRequest request;
  request.program = program;
  const Digest toolchain{};
  const std::vector<FingerprintRoot> roots;
  return Fingerprint({request, toolchain, options, roots});
}

}  // namespace

/// Equal meaning gives equal fingerprints and seeds; another source gives others.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cutter cutter({reinterpret_cast<const char*>(data), size});
  NvrtcProgram program = Program(cutter);
  const auto parsed = ParseOptions(BuildKind::kNvrtc, program.options);
  const auto* options = std::get_if<std::vector<ParsedOption>>(&parsed);
  if (options == nullptr) return 0;
  const Digest fingerprint = Of(program, *options);
  const std::string seed = RandomSeed(program, *options);
  assert(seed.size() == 16);

  NvrtcProgram reordered = program;
  std::reverse(reordered.name_expressions.begin(), reordered.name_expressions.end());
  assert(Of(reordered, *options) == fingerprint);
  assert(RandomSeed(reordered, *options) == seed);

  program.source += 'x';
  assert(Of(program, *options) != fingerprint);
  assert(RandomSeed(program, *options) != seed);
  return 0;
}

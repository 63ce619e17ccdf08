// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/passed_options.h"

#include <algorithm>
#include <span>

namespace cccl_cache {
namespace {

constexpr std::string_view kAssemblerFileReason =
    "the assembler would read or write a file by itself; leave it out, give what the file says as "
    "options of their own";
constexpr std::string_view kAssemblerInputReason =
    "the assembler would take it for the name of a file to assemble; pass one option in each "
    "-Xptxas, as -Xptxas=--name=value";
constexpr std::string_view kFrontEndReason =
    "options of the C++ front end can read and write files; only --diag_suppress, --diag_error, "
    "--diag_warning, --diag_remark and --diag_default with error numbers are passed on; use the "
    "compiler's own option (--diag-suppress=...)";
constexpr std::string_view kOptimizerReason = "LLVM's own options can write files; leave it out";

/// ptxas options that name a file, without dashes. The undocumented ones are there, too: measured
/// with 13.0.
constexpr std::string_view kAssemblerFileOptions[] = {"options-file",
                                                      "optf",
                                                      "output-file",
                                                      "o",
                                                      "nv-host",
                                                      "query-controls",
                                                      "apply-controls",
                                                      "compiler-stats-file",
                                                      "fdevice-time-trace",
                                                      "dump-perf-metrics-file",
                                                      "use-trace-pid"};

/// ptxas options that take the next argument for their value. Measured: -O is not among them, `-O
/// 1` opens a file named 1.
constexpr std::string_view kAssemblerValueOptions[] = {"--Ofast-compile",
                                                       "-Ofc",
                                                       "--allow-expensive-optimizations",
                                                       "-allow-expensive-optimizations",
                                                       "--def-load-cache",
                                                       "-dlcm",
                                                       "--def-store-cache",
                                                       "-dscm",
                                                       "--device-function-maxrregcount",
                                                       "-func-maxrregcount",
                                                       "--device-stack-protector",
                                                       "-device-stack-protector",
                                                       "--entry",
                                                       "-e",
                                                       "--fmad",
                                                       "-fmad",
                                                       "--force-load-cache",
                                                       "-flcm",
                                                       "--force-store-cache",
                                                       "-fscm",
                                                       "--gpu-name",
                                                       "-arch",
                                                       "--machine",
                                                       "-m",
                                                       "--maxntid",
                                                       "-maxntid",
                                                       "--maxrregcount",
                                                       "-maxrregcount",
                                                       "--minnctapersm",
                                                       "-minnctapersm",
                                                       "--opt-level",
                                                       "--position-independent-code",
                                                       "-pic",
                                                       "--register-usage-level",
                                                       "-regUsageLevel",
                                                       "--sanitize",
                                                       "-sanitize",
                                                       "--split-compile",
                                                       "-split-compile"};

constexpr std::string_view kFrontEndOptions[] = {
    "--diag_suppress", "--diag_error", "--diag_warning", "--diag_remark", "--diag_default"};

constexpr std::string_view kSeparators = " \t\n\v\f\r,;\"'";

bool Contains(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool NamesAssemblerFile(std::string_view word) {
  if (!word.starts_with('-')) return false;
  const size_t dashes = word.find_first_not_of('-');
  if (dashes == std::string_view::npos) return false;
  word.remove_prefix(dashes);
  return Contains(kAssemblerFileOptions, word.substr(0, word.find('=')));
}

}  // namespace

std::string_view PassedOptions::Refusal(OptionReceiver receiver, std::string_view value) {
  switch (receiver) {
    case OptionReceiver::kCompiler:
      return {};
    case OptionReceiver::kAssembler:
      return AssemblerRefusal(value);
    case OptionReceiver::kFrontEnd: {
      const size_t equals = value.find('=');
      const bool numbers =
          equals != std::string_view::npos &&
          value.find_first_not_of("0123456789,", equals + 1) == std::string_view::npos;
      return numbers && Contains(kFrontEndOptions, value.substr(0, equals)) ? std::string_view{}
                                                                            : kFrontEndReason;
    }
    case OptionReceiver::kOptimizer:
      return value.find("-X") != std::string_view::npos ? kOptimizerReason : std::string_view{};
  }
  return {};
}

std::string_view PassedOptions::AssemblerRefusal(std::string_view value) {
  const bool is_value = assembler_awaits_value_;
  assembler_awaits_value_ = !is_value && Contains(kAssemblerValueOptions, value);
  // Today's compilers hand the text over as one argument. A release that splits it must not open a
  // way in, and no text with such a word inside is valid today.
  for (size_t start = value.find_first_not_of(kSeparators); start != std::string_view::npos;
       start = value.find_first_not_of(kSeparators, start)) {
    const size_t end = std::min(value.find_first_of(kSeparators, start), value.size());
    if (NamesAssemblerFile(value.substr(start, end - start))) return kAssemblerFileReason;
    start = end;
  }
  return is_value || value.starts_with('-') ? std::string_view{} : kAssemblerInputReason;
}

}  // namespace cccl_cache

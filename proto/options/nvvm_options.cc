// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/options/options.h"

namespace cccl_cache {
namespace {

constexpr std::string_view kLlvmReason = "LLVM's own options can write files; leave it out";

// A value follows `=` in the same argument, after one dash. libNVVM answers any other form with "an
// unsupported option" (measured).
constexpr OptionRule kNvvmRules[] = {
    {.name = "-arch",
     .spellings = kSpellings<"-arch">,
     .value = OptionValue::kRequired,
     .meaning = "The virtual architecture to compile for: compute_N."},
    {.name = "-g",
     .spellings = kSpellings<"-g">,
     .shows_paths = true,
     .meaning = "Debug information from the module's metadata; takes effect with -opt=0."},
    {.name = "-generate-line-info",
     .spellings = kSpellings<"-generate-line-info">,
     .shows_paths = true,
     .meaning = "Line numbers from the module's metadata."},
    {.name = "-opt",
     .spellings = kSpellings<"-opt">,
     .value = OptionValue::kRequired,
     .meaning = "How much to optimize: 0, 3."},
    {.name = "-ftz",
     .spellings = kSpellings<"-ftz">,
     .value = OptionValue::kRequired,
     .meaning = "Whether single-precision denormals become zero: 0, 1."},
    {.name = "-prec-sqrt",
     .spellings = kSpellings<"-prec-sqrt">,
     .value = OptionValue::kRequired,
     .meaning = "Whether single-precision square roots are rounded exactly: 0, 1."},
    {.name = "-prec-div",
     .spellings = kSpellings<"-prec-div">,
     .value = OptionValue::kRequired,
     .meaning = "Whether single-precision divisions are rounded exactly: 0, 1."},
    {.name = "-fma",
     .spellings = kSpellings<"-fma">,
     .value = OptionValue::kRequired,
     .meaning = "Whether a multiplication and an addition may be fused: 0, 1."},
    {.name = "-jump-table-density",
     .spellings = kSpellings<"-jump-table-density">,
     .value = OptionValue::kRequired,
     .meaning = "How dense the cases of a switch must be for a jump table, 0 to 101 per cent."},
    {.name = "-gen-lto",
     .spellings = kSpellings<"-gen-lto">,
     .meaning = "Yields LTO-IR in place of PTX."},

    {.name = "-Xopt",
     .spellings = kSpellings<"-Xopt">,
     .value = OptionValue::kRequired,
     .separate = true,
     .effect = OptionEffect::kRefused,
     .meaning = "Undocumented: one argument for LLVM's optimizer.",
     .reason = kLlvmReason},
    {.name = "-Xllc",
     .spellings = kSpellings<"-Xllc">,
     .value = OptionValue::kRequired,
     .separate = true,
     .effect = OptionEffect::kRefused,
     .meaning = "Undocumented: one argument for LLVM's code generator.",
     .reason = kLlvmReason},
    {.name = "-Xlnk",
     .spellings = kSpellings<"-Xlnk">,
     .value = OptionValue::kRequired,
     .separate = true,
     .effect = OptionEffect::kRefused,
     .meaning = "Undocumented: one argument for LLVM's linker.",
     .reason = kLlvmReason},
};

}  // namespace

std::span<const OptionRule> NvvmOptionRules() { return kNvvmRules; }

}  // namespace cccl_cache

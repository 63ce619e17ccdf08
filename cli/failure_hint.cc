// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/failure_hint.h"

#include <algorithm>
#include <iterator>

namespace cccl_cache::cli {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// "sm_90", "sm_90a"
bool IsArchitecture(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  if (!text.empty() && text.back() >= 'a' && text.back() <= 'z') text.remove_suffix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

/// "90" of "sm90", "9.0", "compute_90".
std::string NumberOf(std::string_view text) {
  std::string number;
  std::copy_if(text.begin(), text.end(), std::back_inserter(number), IsDigit);
  return number.empty() ? "90" : number;
}

/// "sm_80,sm_90": no architecture has more than three digits.
bool NamesSeveral(std::string_view text) {
  return !IsArchitecture(text, "sm_") && !IsArchitecture(text, "compute_") &&
         NumberOf(text).size() > 3;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string LinkHint(const CompilePlan& plan, std::string_view log) {
  if (Has(log, "(-lto)")) return "LTO-IR is linked with --option=-lto";
  if (Has(log, "requires -lto")) return "--emit ptx links LTO-IR, with --option=-lto";
  if (Has(log, "may need newer version")) {
    return "an input is of a newer CUDA than this toolchain: name one as new with --toolchain "
           "(`cccl-cache-cli toolchains` lists them), or make the input again with this one";
  }
  const bool unreadable = Has(log, "nvvmCompileProgram") && Has(log, ": parse ");
  if (unreadable || Has(log, "bad input") || Has(log, "INVALID_INPUT")) {
    return "an input is damaged, or its extension names what it is not: make it again (LTO-IR by "
           "`cccl-cache-cli build --emit ltoir`), or rename it";
  }
  if (!Has(log, "requires -ptx")) return "";
  return "--arch " + plan.architecture + " goes with --emit ptx, a cubin is made by --arch sm_" +
         NumberOf(plan.architecture);
}

/// In the words of each of the three; libNVVM has these for a wrong --arch too.
bool NamesUnknownOption(std::string_view log) {
  return Has(log, "unrecognized option") || (Has(log, "unsupported option") && !Has(log, "-arch="));
}

}  // namespace

std::string FailureHint(const CompilePlan& plan, std::string_view log) {
  if (NamesSeveral(plan.architecture)) {
    return "--arch takes one architecture, such as sm_90: run a build for each";
  }
  if (NamesUnknownOption(log)) {
    return "this toolchain's compiler has no such option: leave it out, or name another toolchain "
           "with --toolchain (`cccl-cache-cli toolchains` lists them)";
  }
  if (plan.compiler == Compiler::kNvJitLink) {
    if (std::string hint = LinkHint(plan, log); !hint.empty()) return hint;
  }
  if (!Has(log, "arch")) return "";
  const std::string number = NumberOf(plan.architecture);
  const bool is_virtual = IsArchitecture(plan.architecture, "compute_");
  if (plan.compiler == Compiler::kNvvm) {
    return is_virtual ? "" : "libNVVM takes --arch compute_" + number;
  }
  if (!is_virtual && !IsArchitecture(plan.architecture, "sm_")) {
    return "--arch is written sm_" + number + ", or compute_" + number + " for PTX alone";
  }
  if (!Has(log, "--gpu-architecture")) return "";
  return "this toolchain knows no " + plan.architecture +
         ": `cccl-cache-cli toolchains` lists those that --toolchain can name";
}

}  // namespace cccl_cache::cli

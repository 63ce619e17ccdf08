// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/build_options.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <utility>

#include "cli/driver.h"
#include "cli/terminal/files.h"

namespace cccl_cache::cli {
namespace {

Kind KindOf(std::string_view emit) {
  if (emit == "ptx") return Kind::kPtx;
  if (emit == "ltoir") return Kind::kLtoIr;
  if (emit == "optixir") return Kind::kOptixIr;
  return Kind::kCubin;
}

Priority PriorityOf(std::string_view name) {
  if (name == "interactive") return Priority::kInteractive;
  if (name == "normal") return Priority::kNormal;
  if (name == "warm-up") return Priority::kWarmUp;
  return Priority::kDefault;
}

constexpr std::string_view kDecimalDigits = "0123456789";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 3 &&
         text.find_first_not_of(kDecimalDigits) == std::string_view::npos;
}

bool IsVersion(std::string_view text) {
  const size_t dot = text.find('.');
  return dot != std::string_view::npos && IsNumber(text.substr(0, dot)) &&
         IsNumber(text.substr(dot + 1));
}

}  // namespace

void AddCompileOptions(CLI::App* command, const std::vector<std::string>& kinds,
                       const std::string& output, CompileOptions* options) {
  options->emit = kinds.front();
  command
      ->add_option("--arch", options->architecture,
                   "Architecture, such as sm_90; \"native\": that of this machine's first GPU")
      ->required();
  AcceptOnly(command->add_option(
                 "--emit", options->emit,
                 "Kind of artifact: " + Joined(kinds, ", ") + " (default: " + kinds.front() + ")"),
             kinds);
  command->add_option("-o,--output", options->output,
                      "File to write; \"-\": standard output (default: " + output + ")");
  AddRepeated(command, "--option", &options->options,
              "Option for the compiler, unchanged: --option=-lineinfo");
  command->add_option("--toolchain", options->toolchain,
                      "Major (13), version (12.9) or id of the toolchain (default: the newest that "
                      "this machine's driver supports)");
  AcceptOnly(command->add_option("--priority", options->priority,
                                 "Which of the builds that wait for a compiler goes first: "
                                 "interactive, normal or warm-up (default: "
                                 "$CCCL_CACHE_PRIORITY, else normal)"),
             {"interactive", "normal", "warm-up"});
  AcceptOnly(command->add_option("--fallback", options->fallback,
                                 "If there is no daemon or it refuses: local compiles here, error "
                                 "fails (default: error)"),
             {"local", "error"});
  CLI::Option* const quiet =
      command->add_flag("-q,--quiet", options->quiet, "Do not print whether it was a hit");
  command
      ->add_flag("-v,--verbose", options->verbose,
                 "Print that, the key and the toolchain, even if standard error is no terminal")
      ->excludes(quiet);
}

CLI::Option* AddRepeated(CLI::App* command, const std::string& names,
                         std::vector<std::string>* values, const std::string& help) {
  return command->add_option(names, *values, help)->allow_extra_args(false);
}

Expected<CompilePlan> PlanCompile(const CompileOptions& options, Compiler compiler, bool json) {
  CompilePlan plan;
  plan.compiler = compiler;
  plan.kind = KindOf(options.emit);
  plan.output = options.output;
  plan.local_fallback = options.fallback == "local";
  if (options.verbose) {
    plan.summary = Summary::kDetails;
  } else if (!options.quiet && isatty(STDERR_FILENO) == 1) {
    plan.summary = Summary::kLine;
  }
  plan.build.wanted = {plan.kind};
  plan.build.priority = PriorityOf(options.priority);
  plan.build.working_directory = WorkingDirectory();
  if (Expected<Done> chosen = ChooseToolchain(options.toolchain, &plan.build); !chosen.ok()) {
    return std::move(chosen).error();
  }
  if (options.toolchain.empty()) plan.build.driver_version = DriverVersion();
  plan.architecture = options.architecture;
  if (options.architecture == "native") {
    Expected<std::string> number = NativeArchitecture();
    if (!number.ok()) return std::move(number).error();
    plan.architecture = (compiler == Compiler::kNvvm ? "compute_" : "sm_") + *number;
  }
  if (plan.output == "-" && json) {
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 "--json and -o - both want standard output: write the artifact to a file"};
  }
  return plan;
}

int FailBuild(Error error, const CompilePlan& plan, const CommonOptions& common) {
  const bool could_be_local = !plan.local_fallback && !common.explain;
  if (error.status == CCCL_CACHE_NO_DAEMON && could_be_local) {
    error.message += "; --fallback local compiles without one";
  } else if (error.status == CCCL_CACHE_OVERLOADED && could_be_local) {
    error.message += "; --fallback local compiles without waiting";
  }
  return Fail(error, common);
}

int FailPlan(const Error& error, const CommonOptions& common) {
  if (error.status != CCCL_CACHE_INVALID_REQUEST) return Fail(error, common);
  return FailUsage(error.message, common);
}

Expected<Done> ChooseToolchain(const std::string& spec, BuildOptions* options) {
  if (spec.empty()) return Done{};
  if (IsNumber(spec)) {
    options->toolchain_major = static_cast<uint32_t>(std::stoul(spec));
  } else if (IsVersion(spec)) {
    options->toolchain_version = spec;
  } else if (WrongKey(spec).empty()) {
    options->toolchain_id = spec;
  } else {
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 "--toolchain " + spec +
                     " is neither a major (13), nor a version (12.9), nor an id of at least 8 "
                     "hexadecimal digits: `cccl-cache-cli toolchains` lists those present"};
  }
  return Done{};
}

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/compile_options.h"
#include "cli/files.h"

namespace cccl_cache::cli {
namespace {

constexpr std::string_view kLazy = "lazy:";

struct NvvmArguments {
  CompileOptions compile;
  std::vector<std::string> files;
  bool libdevice = false;
};

Expected<Done> ReadModules(const NvvmArguments& arguments, std::vector<std::string>* contents,
                           NvvmBuild* build) {
  contents->reserve(arguments.files.size());
  for (const std::string& given : arguments.files) {
    const bool lazy = given.starts_with(kLazy);
    const std::string path = lazy ? given.substr(kLazy.size()) : given;
    Expected<std::string> file = ReadFile(path);
    if (!file.ok()) return std::move(file).error();
    contents->push_back(*std::move(file));
    build->modules.push_back({path, contents->back(), lazy});
  }
  return Done{};
}

int Run(const NvvmArguments& arguments, const CommonOptions& common) {
  Expected<CompilePlan> plan = PlanCompile(arguments.compile, Compiler::kNvvm);
  if (!plan.ok()) return FailPlan(plan.error(), common);
  if (plan->output == "-" && common.json) {
    return FailUsage("--json and -o - both want standard output: write the artifact to a file",
                     common);
  }
  NvvmBuild build;
  std::vector<std::string> contents;
  if (Expected<Done> read = ReadModules(arguments, &contents, &build); !read.ok()) {
    return Fail(read.error(), common);
  }
  if (plan->output.empty()) {
    const std::string& first = build.modules.front().name;
    plan->output = WithExtension(first == "-" ? "stdin.ll" : first, arguments.compile.emit);
  }
  build.options = {"-arch=" + plan->architecture};
  if (plan->kind == Kind::kLtoIr) build.options.emplace_back("-gen-lto");
  const std::vector<std::string>& given = arguments.compile.options;
  build.options.insert(build.options.end(), given.begin(), given.end());
  build.add_libdevice = arguments.libdevice;
  return RunCompile(build, *plan, common);
}

void AddArguments(CLI::App* command, NvvmArguments* arguments) {
  command
      ->add_option("FILE", arguments->files,
                   "Modules in order; lazy:FILE adds one of which only what is used is compiled")
      ->required();
  AddCompileOptions(command, {"ptx", "ltoir"}, kNamedAfterInput, &arguments->compile);
  command->add_flag("--libdevice", arguments->libdevice,
                    "Add the toolchain's own libdevice, lazily");
}

}  // namespace

void AddNvvmCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("nvvm", "Compile NVVM IR with libNVVM");
  command->footer(
      "--arch is a compute_NN: PTX and LTO-IR are for no GPU yet.\n"
      "Example: cccl-cache-cli nvvm kernel.ll --libdevice --arch compute_90 -o kernel.ptx");
  const auto arguments = std::make_shared<NvvmArguments>();
  // Made only for the command that is there: it is a good part of what this process does.
  command->preparse_callback(
      [command, arguments](size_t) { AddArguments(command, arguments.get()); });
  command->callback([arguments, &common, exit_code] { *exit_code = Run(*arguments, common); });
}

}  // namespace cccl_cache::cli

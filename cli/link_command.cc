// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cli/compile_options.h"
#include "cli/files.h"

namespace cccl_cache::cli {
namespace {

struct LinkArguments {
  CompileOptions compile;
  std::vector<std::string> files;
};

// By extension; the daemon tells the others from their contents.
cccl_cache_link_input_type TypeOf(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, cccl_cache_link_input_type>, 7> kTypes = {{
      {"cubin", CCCL_CACHE_INPUT_CUBIN},
      {"ptx", CCCL_CACHE_INPUT_PTX},
      {"ltoir", CCCL_CACHE_INPUT_LTOIR},
      {"fatbin", CCCL_CACHE_INPUT_FATBIN},
      {"o", CCCL_CACHE_INPUT_OBJECT},
      {"a", CCCL_CACHE_INPUT_LIBRARY},
      {"lib", CCCL_CACHE_INPUT_LIBRARY},
  }};
  const std::string_view extension = ExtensionOf(path);
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const auto& type) { return type.first == extension; });
  return found == kTypes.end() ? CCCL_CACHE_INPUT_ANY : found->second;
}

int Run(const LinkArguments& arguments, const CommonOptions& common) {
  Expected<CompilePlan> plan = PlanCompile(arguments.compile, Compiler::kNvJitLink);
  if (!plan.ok()) return FailPlan(plan.error(), common);
  if (plan->output.empty()) plan->output = "linked." + arguments.compile.emit;
  if (plan->output == "-" && common.json) {
    return FailUsage("--json and -o - both want standard output: write the artifact to a file",
                     common);
  }
  LinkBuild build;
  std::vector<std::string> contents;
  contents.reserve(arguments.files.size());
  for (const std::string& path : arguments.files) {
    Expected<std::string> file = ReadFile(path);
    if (!file.ok()) return Fail(file.error(), common);
    contents.push_back(*std::move(file));
    build.inputs.push_back({TypeOf(path), path, contents.back()});
  }
  build.options = {"-arch=" + plan->architecture};
  if (plan->kind == Kind::kPtx) build.options.emplace_back("-ptx");
  const std::vector<std::string>& given = arguments.compile.options;
  build.options.insert(build.options.end(), given.begin(), given.end());
  return RunCompile(build, *plan, common);
}

void AddArguments(CLI::App* command, LinkArguments* arguments) {
  command
      ->add_option("FILE", arguments->files,
                   "Inputs in link order; the type follows from the extension or the contents")
      ->required();
  AddCompileOptions(command, {"cubin", "ptx"}, "linked.cubin, linked.ptx", &arguments->compile);
}

}  // namespace

void AddLinkCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "link", "Link LTO-IR, PTX, cubins, fatbins, objects and libraries with nvJitLink");
  command->footer(
      "LTO-IR and --emit ptx need --option=-lto.\n"
      "Example: cccl-cache-cli link a.ltoir b.ltoir --arch sm_90 --option=-lto -o ab.cubin");
  const auto arguments = std::make_shared<LinkArguments>();
  // Made only for the command that is there: it is a good part of what this process does.
  command->preparse_callback(
      [command, arguments](size_t) { AddArguments(command, arguments.get()); });
  command->callback([arguments, &common, exit_code] { *exit_code = Run(*arguments, common); });
}

}  // namespace cccl_cache::cli

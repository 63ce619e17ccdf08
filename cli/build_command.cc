// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>

#include "cli/compile_options.h"
#include "cli/files.h"

namespace cccl_cache::cli {
namespace {

struct BuildArguments {
  CompileOptions compile;
  std::string file;
  std::string name;
  std::string standard;
  std::vector<std::string> include_directories;
  std::vector<std::string> definitions;
  std::vector<std::string> name_expressions;
  std::vector<std::string> headers;  ///< NAME=FILE
};

std::vector<std::string> CompilerOptions(const BuildArguments& arguments, const CompilePlan& plan) {
  std::vector<std::string> options = {"--gpu-architecture=" + plan.architecture};
  if (plan.kind == Kind::kLtoIr) options.emplace_back("-dlto");
  if (plan.kind == Kind::kOptixIr) options.emplace_back("--optix-ir");
  if (!arguments.standard.empty()) options.push_back("--std=" + arguments.standard);
  for (const std::string& directory : arguments.include_directories) {
    options.push_back("--include-path=" + directory);
  }
  for (const std::string& definition : arguments.definitions) {
    options.push_back("--define-macro=" + definition);
  }
  const std::vector<std::string>& given = arguments.compile.options;
  options.insert(options.end(), given.begin(), given.end());
  return options;
}

// The contents go to `contents`, which must be large enough already: the build refers to them.
Expected<Done> ReadHeaders(const BuildArguments& arguments, std::vector<std::string>* contents,
                           NvrtcBuild* build) {
  for (const std::string& header : arguments.headers) {
    const size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{
          CCCL_CACHE_INVALID_REQUEST,
          "--header " + header + ": write NAME=FILE, for example --header a.h=include/a.h"};
    }
    Expected<std::string> file = ReadFile(header.substr(equals + 1));
    if (!file.ok()) return std::move(file).error();
    contents->push_back(*std::move(file));
    build->headers.push_back({header.substr(0, equals), contents->back()});
  }
  return Done{};
}

int Run(const BuildArguments& arguments, const CommonOptions& common) {
  const std::string name = arguments.file == "-" ? "stdin.cu" : arguments.file;
  Expected<CompilePlan> plan = PlanCompile(arguments.compile, Compiler::kNvrtc);
  if (!plan.ok()) return FailPlan(plan.error(), common);
  if (plan->output.empty()) plan->output = WithExtension(name, arguments.compile.emit);
  if (plan->output == "-" && common.json) {
    return FailUsage("--json and -o - both want standard output: write the artifact to a file",
                     common);
  }
  const Expected<std::string> source = ReadFile(arguments.file);
  if (!source.ok()) return Fail(source.error(), common);
  NvrtcBuild build;
  std::vector<std::string> headers;
  headers.reserve(arguments.headers.size());
  if (Expected<Done> read = ReadHeaders(arguments, &headers, &build); !read.ok()) {
    return FailPlan(read.error(), common);
  }
  build.source = *source;
  build.name = arguments.name.empty() ? name : arguments.name;
  build.options = CompilerOptions(arguments, *plan);
  build.name_expressions = arguments.name_expressions;
  build.append_toolchain_headers = true;
  // What NVRTC would read if it ran in this process.
  for (const char* variable : {"NVRTC_APPEND_FLAGS", "NVRTCWIZ"}) {
    if (const char* value = std::getenv(variable)) build.environment.push_back({variable, value});
  }
  return RunCompile(build, *plan, common);
}

void AddArguments(CLI::App* command, BuildArguments* arguments) {
  command->add_option("FILE", arguments->file, "Source, \"-\": standard input")->required();
  AddCompileOptions(command, {"cubin", "ptx", "ltoir", "optixir"}, kNamedAfterInput,
                    &arguments->compile);
  AddRepeated(command, "-I", &arguments->include_directories, "Directory to look for headers in");
  AddRepeated(command, "-D", &arguments->definitions, "Macro to define: NAME or NAME=VALUE");
  command->add_option("--std", arguments->standard, "Language standard: c++17");
  AddRepeated(command, "--name-expression", &arguments->name_expressions,
              "Name whose lowered form --json lists: \"f<int>\"");
  AddRepeated(command, "--header", &arguments->headers,
              "Header that comes with the source: NAME=FILE");
  command->add_option("--name", arguments->name,
                      "Name of the program in messages and for quoted includes (default: FILE)");
}

}  // namespace

void AddBuildCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("build", "Compile CUDA C++ with NVRTC");
  command->footer(
      "The toolchain's own headers (CUDA's and CCCL's) are searched after the -I directories.\n"
      "Example: cccl-cache-cli build reduce.cu --arch sm_90 --std c++17 -I include -o "
      "reduce.cubin");
  const auto arguments = std::make_shared<BuildArguments>();
  // Made only for the command that is there: it is a good part of what this process does.
  command->preparse_callback(
      [command, arguments](size_t) { AddArguments(command, arguments.get()); });
  command->callback([arguments, &common, exit_code] { *exit_code = Run(*arguments, common); });
}

}  // namespace cccl_cache::cli

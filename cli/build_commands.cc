// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/build_options.h"
#include "cli/terminal/files.h"

namespace cccl_cache::cli {
namespace {

constexpr std::string_view kVirtual = "compute_";  // architectures that have PTX and no cubin

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

// Reads the headers' files into `contents`. The build refers to these texts, so the caller must
// have reserved enough elements that the vector never reallocates.
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
  Expected<CompilePlan> plan = PlanCompile(arguments.compile, Compiler::kNvrtc, common.json);
  if (!plan.ok()) return FailPlan(plan.error(), common);
  if (plan->kind == Kind::kCubin && plan->architecture.starts_with(kVirtual)) {
    const std::string number = plan->architecture.substr(kVirtual.size());
    return FailUsage(
        "--arch " + plan->architecture + " is for --emit ptx: a cubin needs --arch sm_" + number,
        common);
  }
  if (plan->output.empty()) plan->output = WithExtension(name, arguments.compile.emit);
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
  // NVRTC reads these environment variables, so the daemon needs their values.
  for (const char* variable : {"NVRTC_APPEND_FLAGS", "NVRTCWIZ"}) {
    if (const char* value = std::getenv(variable)) build.environment.push_back({variable, value});
  }
  return RunCompile(build, *plan, common);
}

void AddArguments(CLI::App* command, BuildArguments* arguments) {
  command->add_option("FILE", arguments->file, "Source; \"-\": standard input")->required();
  AddCompileOptions(command, {"cubin", "ptx", "ltoir", "optixir"}, kNamedAfterInput,
                    &arguments->compile);
  AddRepeated(command, "-I", &arguments->include_directories, "Directory to search for headers");
  AddRepeated(command, "-D", &arguments->definitions, "Macro: NAME or NAME=VALUE");
  command->add_option("--std", arguments->standard,
                      "Language standard, such as c++17 (default: the compiler's)");
  AddRepeated(command, "--name-expression", &arguments->name_expressions,
              "Expression whose lowered name --json lists: \"f<int>\"");
  AddRepeated(command, "--header", &arguments->headers,
              "Header to include under another name: NAME=FILE");
  command->add_option("--name", arguments->name,
                      "Name of the program in messages and for quoted includes (default: FILE)");
}

/// Returns an error if an input has an extension of CUDA C++ source (.cu, .cuh) although compiled
/// code is expected. The compilers' own message would not name the cause. `build` is the command to
/// suggest.
Expected<Done> CheckCompiled(const std::vector<std::string>& paths, const std::string& build) {
  for (const std::string& path : paths) {
    const std::string_view extension = ExtensionOf(path);
    if (extension != "cu" && extension != "cuh") continue;
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 path + " is CUDA C++: build it first (cccl-cache-cli " + build + ")"};
  }
  return Done{};
}

struct LinkArguments {
  CompileOptions compile;
  std::vector<std::string> files;
};

// Returns the input type for the file's extension. For other extensions, returns "any": the daemon
// detects the type from the contents.
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
  Expected<CompilePlan> plan = PlanCompile(arguments.compile, Compiler::kNvJitLink, common.json);
  if (!plan.ok()) return FailPlan(plan.error(), common);
  if (plan->output.empty()) plan->output = "linked." + arguments.compile.emit;
  const Expected<Done> compiled =
      CheckCompiled(arguments.files, "build FILE --arch " + plan->architecture + " --emit ltoir");
  if (!compiled.ok()) return FailPlan(compiled.error(), common);
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
  Expected<CompilePlan> plan = PlanCompile(arguments.compile, Compiler::kNvvm, common.json);
  if (!plan.ok()) return FailPlan(plan.error(), common);
  const Expected<Done> compiled =
      CheckCompiled(arguments.files, "build FILE --arch " + plan->architecture + " --emit ptx");
  if (!compiled.ok()) return FailPlan(compiled.error(), common);
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
                   "Modules in order; lazy:FILE compiles only the functions that others use")
      ->required();
  AddCompileOptions(command, {"ptx", "ltoir"}, kNamedAfterInput, &arguments->compile);
  command->add_flag("--libdevice", arguments->libdevice,
                    "Add the toolchain's own libdevice, lazily");
}

template <typename Arguments>
void AddCompileCommand(CLI::App* app, const char* name, const char* help, const char* footer,
                       const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(name, help);
  command->group("Compile");
  command->footer(footer);
  const auto arguments = std::make_shared<Arguments>();
  AddWhenParsed(command, common, [command, arguments] { AddArguments(command, arguments.get()); });
  command->callback([arguments, &common, exit_code] { *exit_code = Run(*arguments, common); });
}

}  // namespace

void AddBuildCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  AddCompileCommand<BuildArguments>(
      app, "build", "Compile CUDA C++ with NVRTC",
      "The toolchain's own headers (CUDA's and CCCL's) are searched after the -I directories.\n"
      "Environment: NVRTC_APPEND_FLAGS counts as for NVRTC itself, if NVRTCWIZ is set for it.\n"
      "Example: cccl-cache-cli build reduce.cu --arch sm_90 --std c++17 -I include -o "
      "reduce.cubin",
      common, exit_code);
}

void AddLinkCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  AddCompileCommand<LinkArguments>(
      app, "link", "Link LTO-IR, PTX, cubins, fatbins, objects and libraries with nvJitLink",
      "LTO-IR and --emit ptx need --option=-lto.\n"
      "Example: cccl-cache-cli link a.ltoir b.ltoir --arch sm_90 --option=-lto -o ab.cubin",
      common, exit_code);
}

void AddNvvmCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  AddCompileCommand<NvvmArguments>(
      app, "nvvm", "Compile NVVM IR with libNVVM",
      "--arch takes compute_NN: PTX and LTO-IR are made for no particular GPU.\n"
      "Example: cccl-cache-cli nvvm kernel.ll --libdevice --arch compute_90 -o kernel.ptx",
      common, exit_code);
}

}  // namespace cccl_cache::cli

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The NVRTC API of a compiler that runs the commands in the source (README.md).
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/support/fake_toolchain/mapped_control.h"
#include "tests/support/fake_toolchain/nvrtc_code.h"
#include "tests/support/fake_toolchain/script.h"
#include "tests/support/fake_toolchain/source.h"

using fake_toolchain::Control;
using fake_toolchain::Effects;
using fake_toolchain::Ending;
using enum fake_toolchain::NvrtcCode;

namespace {

constexpr int kMajor = FAKE_CUDA_MAJOR;
constexpr int kMinor = FAKE_CUDA_MINOR;
constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};
size_t pch_heap_size = 0;

/// Mapped when the library is loaded, before any sandbox.
Control* const control = [] {
  Control* memory = fake_toolchain::MapControl();
  if (memory != nullptr) memory->loads.fetch_add(1);
  return memory;
}();

/// The settings from the options of one compile.
struct Settings {
  std::string architecture = "compute_75";
  bool lto = false;
  bool optix = false;
  std::string shown;  ///< the options that may change a cubin, which exclude directories
  std::string all;
};

}  // namespace

struct _nvrtcProgram {
  fake_toolchain::Source source;
  std::map<std::string, std::string> names;
  bool compiled = false;
  std::string log;
  std::string ptx;
  std::string cubin;
  std::string lto;
  std::string optix;
};

namespace {

using Program = _nvrtcProgram;

bool KnownArchitecture(std::string_view text) {
  const size_t underscore = text.find('_');
  if (underscore == std::string_view::npos) return false;
  const std::string_view kind = text.substr(0, underscore);
  if (kind != "sm" && kind != "compute" && kind != "lto") return false;
  const int number = std::atoi(std::string(text.substr(underscore + 1)).c_str());
  for (const int known : kArchitectures) {
    if (number == known) return true;
  }
  return false;
}

/// Returns whether the option is newer than this NVRTC: 12.4 lacks the options of 12.8 and 13.
bool TooNew(std::string_view option) {
  if (kMajor >= 13) return false;
  for (const std::string_view name : {"-frandom-seed", "--frandom-seed", "--no-cache", "-no-cache",
                                      "--pch", "-pch", "--create-pch", "--use-pch"}) {
    if (option.starts_with(name)) return true;
  }
  return false;
}

/// Returns the value of an option that begins with one of the names, which include any "="; null
/// for another option.
const char* ValueOf(const std::string& option, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (option.starts_with(name)) return option.c_str() + name.size();
  }
  return nullptr;
}

bool ApplyOption(const std::string& option, Program& program, Settings& settings) {
  settings.all += option + "\n";
  if (!option.starts_with('-') || option == "--fake-unknown" || TooNew(option)) {
    program.log += "nvrtc: error: unrecognized option " + option + " found\n";
    return false;
  }
  if (const char* value = ValueOf(option, {"--gpu-architecture=", "-arch="})) {
    settings.architecture = value;
    if (KnownArchitecture(value)) return true;
    program.log += "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
    return false;
  }
  if (const char* directory = ValueOf(option, {"--include-path=", "-I"})) {
    program.source.include_directories.emplace_back(directory);
    return true;
  }
  settings.lto |= option == "-dlto" || option == "--dlink-time-opt" || option == "-dlto=true";
  settings.lto |= option == "--dlink-time-opt=true";
  settings.optix |= option == "--optix-ir" || option == "-optix-ir";
  settings.shown += option + "\n";
  return true;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Returns the description of the inputs, which every output contains.
std::string Describe(const Program& program, const Settings& settings, const std::string& text,
                     const Effects& effects) {
  std::string description = "compiler " + std::to_string(kMajor) + "." + std::to_string(kMinor);
  description += "\narch " + settings.architecture + "\nsource " + std::to_string(text.size()) +
                 " " + fake_toolchain::Fingerprint(text) + "\n" + settings.shown;
  for (const auto& [expression, lowered] : program.names) description += "name " + lowered + "\n";
  return description + effects.notes;
}

/// Like NVRTC, makes either LTO-IR, or OptiX-IR, or PTX and, for a real architecture, a cubin. Only
/// LTO-IR and OptiX-IR show directories.
void MakeOutputs(Program& program, const Settings& settings, const std::string& text,
                 const Effects& effects) {
  const std::string description = Describe(program, settings, text, effects);
  const std::string base = "program " + BaseName(program.source.name) + "\n";
  const std::string full = "program " + program.source.name + "\n" + settings.all;
  std::string* main = &program.ptx;
  if (settings.lto) {
    main = &(program.lto = "fake LTO-IR\n" + full + description);
  } else if (settings.optix) {
    main = &(program.optix = "fake OptiX-IR\n" + full + description);
  } else {
    program.ptx = "// fake PTX\n" + base + description;
    if (settings.architecture.starts_with("sm_")) {
      main = &(program.cubin =
                   "\x7f"
                   "ELF fake cubin\n" +
                   base + description);
    }
  }
  fake_toolchain::Pad(*main, effects.output_bytes);
}

int Compile(Program& program, int count, const char* const* options) {
  if (control != nullptr) control->nvrtc_compiles.fetch_add(1);
  Settings settings;
  for (int i = 0; i < count; ++i) {
    if (!ApplyOption(options[i], program, settings)) return kInvalidOption;
  }
  std::string text;
  if (!Preprocess(program.source, text, program.log)) return kCompilation;
  Effects effects;
  fake_toolchain::RunCommands(text, control, effects);
  program.log += effects.log;
  if (effects.ending == Ending::kOutOfMemory) return kOutOfMemory;
  if (effects.ending == Ending::kCompileError) return kCompilation;
  for (auto& [expression, lowered] : program.names) {
    lowered = "_Z" + std::to_string(expression.size()) + fake_toolchain::Fingerprint(expression);
  }
  MakeOutputs(program, settings, text, effects);
  program.compiled = true;
  return kSuccess;
}

int CopySize(const std::string& bytes, size_t extra, size_t* size) {
  if (size == nullptr) return kInvalidInput;
  *size = bytes.size() + extra;
  return kSuccess;
}

int Copy(const std::string& bytes, size_t extra, char* to) {
  if (to == nullptr) return kInvalidInput;
  std::memcpy(to, bytes.c_str(), bytes.size() + extra);
  return kSuccess;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = kMajor;
  *minor = kMinor;
  return kSuccess;
}

int nvrtcGetNumSupportedArchs(int* count) {
  *count = std::size(kArchitectures);
  return kSuccess;
}

int nvrtcGetSupportedArchs(int* architectures) {
  std::memcpy(architectures, kArchitectures, sizeof(kArchitectures));
  return kSuccess;
}

int nvrtcCreateProgram(Program** program, const char* source, const char* name, int count,
                       const char* const* headers, const char* const* include_names) {
  if (program == nullptr || source == nullptr || count < 0) return kInvalidInput;
  std::unique_ptr<Program> made(new (std::nothrow) Program);
  if (made == nullptr) return kOutOfMemory;
  try {
    made->source.text = source;
    made->source.name = name == nullptr || *name == 0 ? "default_program" : name;
    for (int i = 0; i < count; ++i) made->source.headers.push_back({include_names[i], headers[i]});
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
  *program = made.release();
  return kSuccess;
}

int nvrtcDestroyProgram(Program** program) {
  if (program == nullptr) return kInvalidProgram;
  delete *program;
  *program = nullptr;
  return kSuccess;
}

int nvrtcAddNameExpression(Program* program, const char* expression) {
  if (program->compiled) return kNoNamesAfterCompilation;
  program->names[expression];
  return kSuccess;
}

int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  try {
    return Compile(*program, count, options);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

int nvrtcGetLoweredName(Program* program, const char* expression, const char** lowered) {
  if (!program->compiled) return kNoNamesBeforeCompilation;
  const auto found = program->names.find(expression);
  if (found == program->names.end()) return kNameNotValid;
  *lowered = found->second.c_str();
  return kSuccess;
}

int nvrtcGetPTXSize(Program* program, size_t* size) { return CopySize(program->ptx, 1, size); }
int nvrtcGetPTX(Program* program, char* to) { return Copy(program->ptx, 1, to); }
int nvrtcGetCUBINSize(Program* program, size_t* size) { return CopySize(program->cubin, 0, size); }
int nvrtcGetCUBIN(Program* program, char* to) { return Copy(program->cubin, 0, to); }
int nvrtcGetLTOIRSize(Program* program, size_t* size) { return CopySize(program->lto, 0, size); }
int nvrtcGetLTOIR(Program* program, char* to) { return Copy(program->lto, 0, to); }
int nvrtcGetOptiXIRSize(Program* program, size_t* size) {
  return CopySize(program->optix, 0, size);
}
int nvrtcGetOptiXIR(Program* program, char* to) { return Copy(program->optix, 0, to); }
int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  return CopySize(program->log, 1, size);
}
int nvrtcGetProgramLog(Program* program, char* to) { return Copy(program->log, 1, to); }

int nvrtcGetPCHHeapSize(size_t* size) {
  *size = pch_heap_size;
  return kSuccess;
}

int nvrtcSetPCHHeapSize(size_t size) {
  pch_heap_size = size;
  return kSuccess;
}

int nvrtcGetPCHHeapSizeRequired(Program*, size_t* size) {
  *size = 1 << 20;
  return kSuccess;
}

int nvrtcGetPCHCreateStatus(Program*) { return 13; }

int nvrtcInstallBundledHeaders(const char* directory, unsigned, const char** log) {
  const std::filesystem::path place = directory;
  std::error_code error;
  std::filesystem::create_directory(place / "cccl", error);
  std::ofstream(place / "bundled.h") << "// bundled\n";
  std::ofstream file(place / "cccl/nested.h");
  if (file << "// nested\n") return kSuccess;
  *log = "a full disk";
  return kInvalidInput;
}

int nvrtcSetFlowCallback(Program*, int (*)(void*, void*), void*) { return kSuccess; }

}  // extern "C"

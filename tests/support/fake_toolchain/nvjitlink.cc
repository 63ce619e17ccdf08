// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The nvJitLink API of a linker that runs the commands in its inputs (README.md).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "tests/support/fake_toolchain/mapped_control.h"
#include "tests/support/fake_toolchain/script.h"

using fake_toolchain::Control;
using fake_toolchain::Effects;
using fake_toolchain::Ending;

namespace {

enum Code {
  kSuccess = 0,
  kUnrecognizedOption = 1,
  kMissingArch = 2,
  kInvalidInput = 3,
  kNvvmCompile = 5,
  kInternal = 6,
  kNullInput = 10,
  kUnrecognizedArch = 16,
};

enum InputType { kLtoIr = 3 };

Control* const control = fake_toolchain::MapControl();

}  // namespace

struct nvJitLink {
  std::string description;
  std::string commands;
  std::string error_log;
  std::string info_log;
  std::string cubin;
  std::string ptx;
  bool want_ptx = false;
};

namespace {

using Linker = nvJitLink;

int ApplyOption(const std::string& option, Linker& linker, bool& has_arch) {
  linker.description += option + "\n";
  if (!option.starts_with('-') || option == "--fake-unknown") {
    linker.error_log += "ERROR: unrecognized option " + option + "\n";
    return kUnrecognizedOption;
  }
  if (option.starts_with("-arch=")) {
    has_arch = true;
    const size_t digits = option.find_first_of("0123456789");
    if (digits == std::string::npos || std::strlen(option.c_str() + digits) > 4 ||
        std::string_view(option).substr(digits, 4) == "9000") {
      linker.error_log += "ERROR: unrecognized value of -arch\n";
      return kUnrecognizedArch;
    }
  }
  linker.want_ptx |= option == "-ptx";
  return kSuccess;
}

int ApplyOptions(Linker& linker, uint32_t count, const char* const* options) {
  bool has_arch = false;
  for (uint32_t i = 0; i < count; ++i) {
    const int code = ApplyOption(options[i], linker, has_arch);
    if (code != kSuccess) return code;
  }
  if (has_arch) return kSuccess;
  linker.error_log += "ERROR: -arch=sm_NN is missing\n";
  return kMissingArch;
}

/// Adds an input. LTO-IR that no fake compiler made is an error.
int AddInput(Linker& linker, int type, std::string_view bytes, const char* name) {
  if (type == kLtoIr && !bytes.starts_with("fake LTO-IR")) {
    linker.error_log +=
        std::string("ERROR: '") + (name == nullptr ? "" : name) + "' is no LTO-IR\n";
    return kInvalidInput;
  }
  linker.description +=
      "input " + std::to_string(type) + " " + fake_toolchain::Fingerprint(bytes) + "\n";
  linker.commands.append(bytes).push_back('\n');
  return kSuccess;
}

int Complete(Linker& linker) {
  if (control != nullptr) control->links.fetch_add(1);
  Effects effects;
  fake_toolchain::RunCommands(linker.commands, control, effects);
  if (effects.ending == Ending::kCompileError) {
    linker.error_log += effects.log;
    return kNvvmCompile;
  }
  if (effects.ending == Ending::kOutOfMemory) {
    linker.error_log += "ERROR: out of memory\n";
    return kInternal;
  }
  linker.info_log += effects.log;
  const std::string text = "compiler " + std::to_string(FAKE_CUDA_MAJOR) + "." +
                           std::to_string(FAKE_CUDA_MINOR) + "\n" + linker.description +
                           effects.notes;
  if (linker.want_ptx) linker.ptx = "// fake linked PTX\n" + text;
  linker.cubin =
      "\x7f"
      "ELF fake linked cubin\n" +
      text;
  fake_toolchain::Pad(linker.cubin, effects.output_bytes);
  return kSuccess;
}

int CopySize(const std::string& bytes, size_t extra, size_t* size) {
  *size = bytes.size() + extra;
  return kSuccess;
}

int Copy(const std::string& bytes, size_t extra, void* to) {
  std::memcpy(to, bytes.c_str(), bytes.size() + extra);
  return kSuccess;
}

}  // namespace

extern "C" {

int nvJitLinkVersion(unsigned* major, unsigned* minor) {
  *major = FAKE_CUDA_MAJOR;
  *minor = FAKE_CUDA_MINOR;
  return kSuccess;
}

int nvJitLinkCreate(Linker** linker, uint32_t count, const char* const* options) {
  *linker = new (std::nothrow) Linker;
  if (*linker == nullptr) return kInternal;
  return ApplyOptions(**linker, count, options);
}

int nvJitLinkDestroy(Linker** linker) {
  delete *linker;
  *linker = nullptr;
  return kSuccess;
}

int nvJitLinkAddData(Linker* linker, int type, const void* data, size_t size, const char* name) {
  if (data == nullptr || size == 0) return kNullInput;
  try {
    return AddInput(*linker, type, {static_cast<const char*>(data), size}, name);
  } catch (const std::bad_alloc&) {
    return kInternal;
  }
}

int nvJitLinkAddFile(Linker*, int, const char*) { return kInvalidInput; }

int nvJitLinkComplete(Linker* linker) {
  try {
    return Complete(*linker);
  } catch (const std::bad_alloc&) {
    return kInternal;
  }
}

int nvJitLinkGetLinkedCubinSize(Linker* linker, size_t* size) {
  return CopySize(linker->cubin, 0, size);
}
int nvJitLinkGetLinkedCubin(Linker* linker, void* to) { return Copy(linker->cubin, 0, to); }
int nvJitLinkGetLinkedPtxSize(Linker* linker, size_t* size) {
  return CopySize(linker->ptx, 1, size);
}
int nvJitLinkGetLinkedPtx(Linker* linker, char* to) { return Copy(linker->ptx, 1, to); }
int nvJitLinkGetErrorLogSize(Linker* linker, size_t* size) {
  return CopySize(linker->error_log, 1, size);
}
int nvJitLinkGetErrorLog(Linker* linker, char* to) { return Copy(linker->error_log, 1, to); }
int nvJitLinkGetInfoLogSize(Linker* linker, size_t* size) {
  return CopySize(linker->info_log, 1, size);
}
int nvJitLinkGetInfoLog(Linker* linker, char* to) { return Copy(linker->info_log, 1, to); }

}  // extern "C"

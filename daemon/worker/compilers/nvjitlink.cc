// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/compilers/shared_library.h"

namespace cccl_cache::daemon {
namespace {

/// Result names in the order of nvJitLinkResult, from 0.
constexpr const char* kResultNames[] = {
    "NVJITLINK_SUCCESS",
    "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
    "NVJITLINK_ERROR_MISSING_ARCH",
    "NVJITLINK_ERROR_INVALID_INPUT",
    "NVJITLINK_ERROR_PTX_COMPILE",
    "NVJITLINK_ERROR_NVVM_COMPILE",
    "NVJITLINK_ERROR_INTERNAL",
    "NVJITLINK_ERROR_THREADPOOL",
    "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
    "NVJITLINK_ERROR_FINALIZE",
    "NVJITLINK_ERROR_NULL_INPUT",
    "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
    "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
    "NVJITLINK_ERROR_ARCH_MISMATCH",
    "NVJITLINK_ERROR_OUTDATED_LIBRARY",
    "NVJITLINK_ERROR_MISSING_FATBIN",
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
    "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
    "NVJITLINK_ERROR_LTO_NOT_ENABLED",
};

constexpr std::string_view kElfMagic{
    "\x7f"
    "ELF",
    4};
constexpr std::string_view kArchiveMagic{"!<arch>\n", 8};
constexpr std::string_view kFatbinMagic{"\x50\xed\x55\xba", 4};  // 0xBA55ED50
constexpr std::string_view kLtoIrMagic{"\xed\x43\x4e\x7f", 4};   // 0x7F4E43ED
constexpr uint16_t kCudaMachine = 190;                           // EM_CUDA; old elf.h lack it

uint16_t ElfMachine(std::string_view contents) {
  uint16_t machine = EM_NONE;
  constexpr size_t kOffset = offsetof(Elf64_Ehdr, e_machine);  // e_machine has this offset in
                                                               // 32-bit files too
  if (contents.size() >= kOffset + sizeof(machine)) {
    std::memcpy(&machine, contents.data() + kOffset, sizeof(machine));
  }
  return machine;
}

/// Returns whether the contents are PTX, that is, text whose first statement is `.version`.
bool IsPtx(std::string_view contents) {
  while (!contents.empty()) {
    const size_t start = contents.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return false;
    contents.remove_prefix(start);
    size_t end;
    if (contents.starts_with("//")) {
      end = contents.find('\n');
    } else if (contents.starts_with("/*")) {
      end = contents.find("*/");
      if (end != std::string_view::npos) end += 2;
    } else {
      return contents.starts_with(".version");
    }
    if (end == std::string_view::npos) return false;
    contents.remove_prefix(end);
  }
  return false;
}

/// Value of nvJitLinkInputType with which the library detects the type itself. It may know more
/// types than LinkInputTypeOf. All other values are equal to those of LinkInputType.
constexpr int kAnyType = 10;

int TypeOf(const WorkerJob::LinkInput& input) {
  const LinkInputType type =
      input.type == LinkInputType::kUnspecified ? LinkInputTypeOf(input.contents) : input.type;
  return type == LinkInputType::kUnspecified ? kAnyType : static_cast<int>(type);
}

int Link(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink,
         NvJitLinkLibrary::Handle& handle) {
  std::vector<const char*> options;
  options.reserve(job.options.size() +
                  1);  // data() is then not null, for which the library returns another error
  for (const std::string_view option : job.options) options.push_back(option.data());
  int result = nvjitlink.create(&handle, static_cast<uint32_t>(options.size()), options.data());
  for (const WorkerJob::LinkInput& input : job.inputs) {
    if (result != NvJitLinkLibrary::kSuccess) return result;
    result = nvjitlink.add_data(handle, TypeOf(input), input.contents.data(), input.contents.size(),
                                input.name.data());
  }
  return result == NvJitLinkLibrary::kSuccess ? nvjitlink.complete(handle) : result;
}

std::string LogOf(const NvJitLinkLibrary& nvjitlink, NvJitLinkLibrary::Handle handle) {
  if (handle == nullptr) return {};
  std::string log = CompilerText(nvjitlink.error_log_size, nvjitlink.error_log, handle);
  const std::string info = CompilerText(nvjitlink.info_log_size, nvjitlink.info_log, handle);
  if (!log.empty() && !log.ends_with('\n') && !info.empty()) log.push_back('\n');
  return log + info;
}

}  // namespace

const char* NvJitLinkLibrary::ResultName(int result) {
  if (result < 0 || static_cast<size_t>(result) >= std::size(kResultNames)) {
    return "NVJITLINK_ERROR";
  }
  return kResultNames[result];
}

Result<NvJitLinkLibrary> NvJitLinkLibrary::Open(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open(files);
  if (!library) return library.error();
  NvJitLinkLibrary nvjitlink{};
  // Releases before 12.3 export the functions only with a version in the name.
  const auto need = [&library](const std::string& name, auto*& function) {
    const std::string plain = "nvJitLink" + name;
    library->Find(plain.c_str(), function);
    if (function == nullptr) library->Find(("__" + plain + "_12_0").c_str(), function);
    if (function == nullptr) library->Need(plain.c_str(), function);
  };
  need("Create", nvjitlink.create);
  need("AddData", nvjitlink.add_data);
  need("Complete", nvjitlink.complete);
  need("GetLinkedCubinSize", nvjitlink.cubin_size);
  need("GetLinkedCubin", nvjitlink.cubin);
  need("GetLinkedPtxSize", nvjitlink.ptx_size);
  need("GetLinkedPtx", nvjitlink.ptx);
  need("GetErrorLogSize", nvjitlink.error_log_size);
  need("GetErrorLog", nvjitlink.error_log);
  need("GetInfoLogSize", nvjitlink.info_log_size);
  need("GetInfoLog", nvjitlink.info_log);
  if (Status complete = library->Complete(); !complete) return complete.error();
  return nvjitlink;
}

LinkInputType LinkInputTypeOf(std::string_view contents) {
  if (contents.starts_with(kElfMagic)) {
    return ElfMachine(contents) == kCudaMachine ? LinkInputType::kCubin : LinkInputType::kObject;
  }
  if (contents.starts_with(kArchiveMagic)) return LinkInputType::kLibrary;
  if (contents.starts_with(kFatbinMagic)) return LinkInputType::kFatbin;
  if (contents.starts_with(kLtoIrMagic)) return LinkInputType::kLtoIr;
  return IsPtx(contents) ? LinkInputType::kPtx : LinkInputType::kUnspecified;
}

WorkerReply RunLinkJob(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink) {
  WorkerReply reply;
  NvJitLinkLibrary::Handle handle = nullptr;
  reply.native_code = Link(job, nvjitlink, handle);
  reply.succeeded = reply.native_code == NvJitLinkLibrary::kSuccess;
  reply.log = LogOf(nvjitlink, handle);
  if (!reply.succeeded) {
    reply.native_name = NvJitLinkLibrary::ResultName(reply.native_code);
    return reply;
  }
  // The library makes either a cubin or, with the option `-ptx`, PTX.
  std::string cubin = CompilerBytes(nvjitlink.cubin_size, nvjitlink.cubin, handle);
  if (!cubin.empty()) reply.parts.push_back({ArtifactKind::kCubin, std::move(cubin)});
  std::string ptx = CompilerText(nvjitlink.ptx_size, nvjitlink.ptx, handle);
  if (!ptx.empty()) reply.parts.push_back({ArtifactKind::kPtx, std::move(ptx)});
  return reply;
}

}  // namespace cccl_cache::daemon

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/raw_nvjitlink.h"

#include <dlfcn.h>

#include <cstdio>

#include "tests/bench/find_symbol.h"

namespace cccl_cache::daemon {
namespace {

constexpr int kLtoIr = 3;  // NVJITLINK_INPUT_LTOIR

}  // namespace

std::unique_ptr<RawNvJitLink> RawNvJitLink::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::unique_ptr<RawNvJitLink> linker(new RawNvJitLink);
  if (library != nullptr && linker->Find(library)) return linker;
  std::fprintf(stderr, "%s\n", dlerror());
  return nullptr;
}

bool RawNvJitLink::Find(void* library) {
  return FindSymbol(library, "nvJitLinkCreate", create_) &&
         FindSymbol(library, "nvJitLinkDestroy", destroy_) &&
         FindSymbol(library, "nvJitLinkAddData", add_) &&
         FindSymbol(library, "nvJitLinkComplete", complete_) &&
         FindSymbol(library, "nvJitLinkGetLinkedCubinSize", cubin_size_) &&
         FindSymbol(library, "nvJitLinkGetLinkedCubin", cubin_);
}

std::string RawNvJitLink::Link(const std::vector<std::string_view>& pieces,
                               const std::vector<std::string>& options) {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  Linking linking = nullptr;
  if (create_(&linking, static_cast<unsigned>(words.size()), words.data()) != 0) return {};
  std::string cubin = Cubin(linking, pieces);
  destroy_(&linking);
  return cubin;
}

std::string RawNvJitLink::Cubin(Linking linking, const std::vector<std::string_view>& pieces) {
  for (const std::string_view piece : pieces) {
    if (add_(linking, kLtoIr, piece.data(), piece.size(), "piece") != 0) return {};
  }
  size_t size = 0;
  if (complete_(linking) != 0 || cubin_size_(linking, &size) != 0) return {};
  std::string cubin(size, '\0');
  if (cubin_(linking, cubin.data()) != 0) return {};
  return cubin;
}

}  // namespace cccl_cache::daemon

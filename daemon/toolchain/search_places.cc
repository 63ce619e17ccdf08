// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/search_places.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <string_view>

namespace cccl_cache::daemon {
namespace {

std::vector<std::string> Environment(std::initializer_list<const char*> names) {
  std::vector<std::string> values;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] == '/') values.emplace_back(value);
  }
  return values;
}

std::string Machine() {
  utsname machine_name{};
  return uname(&machine_name) == 0 ? machine_name.machine : "x86_64";
}

}  // namespace

SearchPlaces SystemSearchPlaces(std::vector<std::string> roots) {
  const std::string machine = Machine();
  SearchPlaces places = GivenSearchPlaces(std::move(roots));
  places.cuda_homes = Environment({"CUDA_HOME", "CUDA_PATH"});
  places.toolkit_parents = {"/usr/local"};
  places.multiarch = {
      {.libraries = fmt::format("/usr/lib/{}-linux-gnu", machine),
       .headers = "/usr/include",
       .libdevice = {"/usr/lib/nvidia-cuda-toolkit/libdevice", "/usr/lib/cuda/nvvm/libdevice"}}};
  places.python_prefixes = {"/usr/lib", "/usr/local/lib"};
  return places;
}

SearchPlaces GivenSearchPlaces(std::vector<std::string> roots) {
  const std::string machine = Machine();
  SearchPlaces places;
  places.roots = std::move(roots);
  places.targets = {fmt::format("{}-linux", machine)};
  if (machine == "aarch64") places.targets.insert(places.targets.begin(), "sbsa-linux");
  return places;
}

}  // namespace cccl_cache::daemon

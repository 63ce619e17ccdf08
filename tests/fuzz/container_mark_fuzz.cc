// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/service/limits/containers.h"
#include "tests/fuzz/seeds.h"

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string root = "25 1 0:27 /layer / rw shared:1 - overlay a\\040source rw,lowerdir=/a\n";
  const std::string proc = "31 25 0:30 / /proc rw - proc proc rw\n";
  const std::string control_group = std::string("0::/pods/a\n") + '\0';
  return {control_group + root + proc, control_group + proc + root, control_group + proc};
}

/// The input is the texts of a control group and of a mount table, separated by a zero byte. Lines
/// after the one that identifies the container are ignored, and the mark's root is one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\0'), size);
  const std::string_view control_group = text.substr(0, end);
  const std::string_view mounts = text.substr(std::min(size, end + 1));
  const auto mark = cccl_cache::daemon::MarkOf(control_group, mounts);
  if (!mark) return 0;
  assert(mark->control_group == control_group);
  assert(mark->root.find('\n') == std::string::npos);
  assert(cccl_cache::daemon::MarkOf(control_group, std::string(mounts) + "1 2 3 4 / - a b\n") ==
         mark);
  return 0;
}

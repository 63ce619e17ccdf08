// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// Memory that a test shares with the fake compilers of one toolkit copy: the file `control` in the
/// toolkit's root. The fake libraries map it when they are loaded. It thus stays mapped after a
/// fork and in a sandbox.
namespace fake_toolchain {

inline constexpr size_t kGates = 256;

/// A gate at which compiles wait until the test opens it.
struct Gate {
  std::atomic<uint32_t> open;      ///< a futex: 0 or 1
  std::atomic<uint32_t> arrivals;  ///< a futex: number of compiles that have come to the gate
};

struct Control {
  std::atomic<uint32_t> loads;  ///< processes that loaded the fake NVRTC
  std::atomic<uint32_t> nvrtc_compiles;
  std::atomic<uint32_t> links;
  std::atomic<uint32_t> nvvm_compiles;
  Gate gates[kGates];
};

/// Returns the gate of this name. Two names may share one gate, so use few gates in one toolkit
/// copy.
inline Gate& GateNamed(Control& control, std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return control.gates[hash % kGates];
}

}  // namespace fake_toolchain

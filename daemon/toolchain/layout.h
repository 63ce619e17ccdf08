// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/toolchain/search_places.h"

namespace cccl_cache::daemon {

/// Where the parts of one installation may lie, in order; the names are relative to `root`.
struct Layout {
  std::string root;  ///< as it was named
  std::vector<std::string> nvrtc;
  std::vector<std::string> nvjitlink;
  std::vector<std::string> nvvm;
  std::vector<std::string> libdevice;
  std::vector<std::string> headers;
};

/// A place that the search goes to.
struct Candidate {
  Layout layout;
  bool asked_for = false;  ///< finding nothing in it is worth a word
  std::string named;       ///< what the configuration or the environment names
};

/// A CUDA toolkit, a wheel of CUDA 13 (nvidia/cu13), or a directory of libraries.
[[nodiscard]] Layout ToolkitLayout(const std::string& root,
                                   const std::vector<std::string>& targets);
/// The wheels of CUDA 12 and before, one directory per part below site-packages.
[[nodiscard]] Layout WheelsLayout(const std::string& site_packages);
[[nodiscard]] Layout MultiarchLayout(const MultiarchPlace& place);

/// All places in search order: what is asked for first.
[[nodiscard]] std::vector<Candidate> Candidates(const SearchPlaces& places);

}  // namespace cccl_cache::daemon

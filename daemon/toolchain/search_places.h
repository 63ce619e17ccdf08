// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cccl_cache::daemon {

/// A place of a Linux distribution: libraries among all others, headers in the system's own
/// directory.
struct MultiarchPlace {
  std::string libraries;               ///< "/usr/lib/x86_64-linux-gnu"
  std::string headers;                 ///< "/usr/include"; used if it holds CUDA's
  std::vector<std::string> libdevice;  ///< directories that may hold libdevice.10.bc
};

/// Where toolchains are looked for, in the order of the members. Paths that don't exist are passed
/// over.
struct SearchPlaces {
  /// From the configuration: a CUDA toolkit, a tree of Python wheels (site-packages, `pip install
  /// --target`, a virtual environment) or a directory with nothing but libraries.
  std::vector<std::string> roots;
  std::vector<std::string> cuda_homes;  ///< CUDA_HOME, CUDA_PATH
  /// Directories of Python packages: a "site-packages".
  std::vector<std::string> packages;
  /// Directories whose children named cuda* are toolkits: "/usr/local".
  std::vector<std::string> toolkit_parents;
  std::vector<MultiarchPlace> multiarch;
  /// Directories below which Python keeps packages: PREFIX/python3*/{site,dist}-packages.
  std::vector<std::string> python_prefixes;
  /// Names of the machine under targets/ of a toolkit: "x86_64-linux".
  std::vector<std::string> targets;
};

/// The places of this machine: reads the environment (CUDA_HOME, CUDA_PATH) and the machine's name.
[[nodiscard]] SearchPlaces SystemSearchPlaces(std::vector<std::string> roots);
/// These roots alone.
[[nodiscard]] SearchPlaces GivenSearchPlaces(std::vector<std::string> roots);

}  // namespace cccl_cache::daemon

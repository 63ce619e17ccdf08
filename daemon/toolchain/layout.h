// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/core/model/toolchain.h"

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

/// At most so many other spellings of one header directory are known.
inline constexpr size_t kMaxAliases = 32;

/// The header directories of a layout that hold CUDA's headers of this major (or CCCL's, which tell
/// no major), in search order, with all spellings that the layout and the symlinks to its root
/// give.
[[nodiscard]] std::vector<HeaderDirectory> FindHeaders(const Layout& layout, int major);

/// Adds a spelling unless it is there, is the path itself, or there are enough.
void AddAlias(HeaderDirectory& headers, const std::string& alias);

}  // namespace cccl_cache::daemon

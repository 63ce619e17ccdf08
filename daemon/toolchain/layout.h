// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// The directories of CUDA in a Linux distribution that has CUDA's libraries beside all others, and
/// CUDA's headers in the system's include directory.
struct MultiarchPlace {
  std::string libraries;               ///< "/usr/lib/x86_64-linux-gnu"
  std::string headers;                 ///< "/usr/include"; used only if CUDA's headers are in it
  std::vector<std::string> libdevice;  ///< directories that may hold libdevice.10.bc
};

/// The places in which toolchains are searched, in this order. Missing paths are skipped.
struct SearchPlaces {
  /// Places from the configuration: a CUDA toolkit, a tree of Python wheels (site-packages, `pip
  /// install --target`, a virtual environment) or a directory with nothing but libraries.
  std::vector<std::string> roots;
  std::vector<std::string> cuda_homes;  ///< values of CUDA_HOME, CUDA_PATH
  /// Directories of Python packages: a "site-packages".
  std::vector<std::string> packages;
  /// Directories whose children named cuda* are toolkits: "/usr/local".
  std::vector<std::string> toolkit_parents;
  std::vector<MultiarchPlace> multiarch;
  /// Directories below which Python has its packages: PREFIX/python3*/{site,dist}-packages.
  std::vector<std::string> python_prefixes;
  /// A directory in which each child is a release that a user added. May be empty. It is searched
  /// last.
  std::string added;
  /// Names that this machine may have under targets/ of a toolkit: "x86_64-linux".
  std::vector<std::string> targets;
};

/// Returns `roots` and the usual places of this machine. Reads the environment (CUDA_HOME,
/// CUDA_PATH) and the type of the machine.
[[nodiscard]] SearchPlaces SystemSearchPlaces(std::vector<std::string> roots);
/// Returns places that consist of these roots only.
[[nodiscard]] SearchPlaces GivenSearchPlaces(std::vector<std::string> roots);

/// The directories that may hold each part of one installation, in search order. Their names are
/// relative to `root`.
struct Layout {
  std::string root;  ///< path as it was named
  std::vector<std::string> nvrtc;
  std::vector<std::string> nvjitlink;
  std::vector<std::string> nvvm;
  std::vector<std::string> libdevice;
  std::vector<std::string> headers;
};

/// One layout to search, and why it is searched.
struct Candidate {
  Layout layout;
  bool asked_for = false;  ///< the user named the place, so it is reported if nothing is there
  bool added = false;      ///< a release that a user added
  std::string named;       ///< path as the configuration or the environment names it
};

/// Returns the layout of a CUDA toolkit, a wheel of CUDA 13 (nvidia/cu13), or a directory of
/// libraries.
[[nodiscard]] Layout ToolkitLayout(const std::string& root,
                                   const std::vector<std::string>& targets);
/// Returns the layout of the wheels of CUDA 12 and before, one directory per part below
/// site-packages.
[[nodiscard]] Layout WheelsLayout(const std::string& site_packages);
[[nodiscard]] Layout MultiarchLayout(const MultiarchPlace& place);

/// Returns all candidates in search order. Those that the user named come first.
[[nodiscard]] std::vector<Candidate> Candidates(const SearchPlaces& places);

/// Maximum number of aliases (other paths) that are kept of one header directory.
inline constexpr size_t kMaxAliases = 32;

/// Returns the header directories of a layout in search order: those with CUDA's headers of this
/// major version, and those with CCCL's headers, which have no major version of CUDA. Their aliases
/// are all paths that come from the layout and from symlinks to its root.
[[nodiscard]] std::vector<HeaderDirectory> FindHeaders(const Layout& layout, int major);

/// Adds an alias, unless it is known, is equal to the directory's path, or exceeds kMaxAliases.
void AddAlias(HeaderDirectory& headers, const std::string& alias);

}  // namespace cccl_cache::daemon

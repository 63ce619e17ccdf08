// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// A place in a Linux distribution: the libraries are among all others, and the headers are in the
/// system's include directory.
struct MultiarchPlace {
  std::string libraries;               ///< "/usr/lib/x86_64-linux-gnu"
  std::string headers;                 ///< "/usr/include"; used if it holds CUDA's
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
  /// Directory whose children are releases that users added; may be empty. Last in the order.
  std::string added;
  /// Names of the machine under targets/ of a toolkit: "x86_64-linux".
  std::vector<std::string> targets;
};

/// Returns the places of this machine. Reads the environment (CUDA_HOME, CUDA_PATH) and the name of
/// the machine.
[[nodiscard]] SearchPlaces SystemSearchPlaces(std::vector<std::string> roots);
/// Returns these roots only.
[[nodiscard]] SearchPlaces GivenSearchPlaces(std::vector<std::string> roots);

/// The places of the parts of one installation, in search order; names are relative to `root`.
struct Layout {
  std::string root;  ///< path as it was named
  std::vector<std::string> nvrtc;
  std::vector<std::string> nvjitlink;
  std::vector<std::string> nvvm;
  std::vector<std::string> libdevice;
  std::vector<std::string> headers;
};

/// A place to search.
struct Candidate {
  Layout layout;
  bool asked_for = false;  ///< if nothing is found here, that is reported
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

/// Returns all places in search order, those that were asked for first.
[[nodiscard]] std::vector<Candidate> Candidates(const SearchPlaces& places);

/// Limit of the other spellings that are kept of one header directory.
inline constexpr size_t kMaxAliases = 32;

/// Returns the header directories of a layout that hold CUDA's headers of this major, or CCCL's,
/// which have no major. They are in search order, with all spellings that come from the layout and
/// from symlinks to its root.
[[nodiscard]] std::vector<HeaderDirectory> FindHeaders(const Layout& layout, int major);

/// Adds a spelling unless it is a duplicate, equals the path, or exceeds the limit.
void AddAlias(HeaderDirectory& headers, const std::string& alias);

}  // namespace cccl_cache::daemon

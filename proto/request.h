// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/header_set.h"

namespace cccl_cache {

/// Identifies the view of the file system of a thread. If two views are equal, each absolute path
/// names the same file in both. The kernel never uses 0 for these numbers.
struct FilesView {
  uint64_t mount_namespace = 0;  ///< inode of /proc/thread-self/ns/mnt
  uint64_t root_device = 0;      ///< device of the thread's "/", which chroot() changes
  uint64_t root_inode = 0;
  /// The id of the mount of "/". A bind mount of the same directory has another id. As a root it
  /// may lack mounts below it, so its paths may name other files. Since Linux 6.8 the id is never
  /// reused. 0 before Linux 5.8, which has no such ids.
  uint64_t root_mount = 0;

  bool operator==(const FilesView&) const = default;
};

/// Returns the view of the calling thread, which may have another namespace or root than its
/// process. Returns none if /proc is not mounted. Reading the namespace takes five times as long as
/// reading the root, and a mount belongs to one namespace. So if mount ids are never reused and the
/// root is that of the thread's last call, only the root is read.
[[nodiscard]] inline std::optional<FilesView> FilesViewOfThisThread() {
  constexpr unsigned kUniqueMountId = 0x4000;  // STATX_MNT_ID_UNIQUE, which older headers lack
  thread_local FilesView known;
  struct statx root {};
  if (statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID | kUniqueMountId, &root) != 0) {
    return std::nullopt;
  }
  FilesView view{.mount_namespace = known.mount_namespace,
                 .root_device = uint64_t{root.stx_dev_major} << 32 | root.stx_dev_minor,
                 .root_inode = root.stx_ino};
  const bool unique = (root.stx_mask & kUniqueMountId) != 0;
  if (unique || (root.stx_mask & STATX_MNT_ID) != 0) view.root_mount = root.stx_mnt_id;
  if (unique && view == known) return view;
  struct stat name_space {};
  if (stat("/proc/thread-self/ns/mnt", &name_space) != 0) return std::nullopt;
  view.mount_namespace = name_space.st_ino;
  known = view;
  return view;
}

// The client's request as C++ values. It corresponds to proto/cccl_cache/v1/build.proto, but has
// contents instead of references to blobs. Both the daemon and the client compute fingerprints from
// these types.

/// These values are stored in cache entries and hashed: never change them.
enum class BuildKind : uint8_t { kNvrtc = 1, kLink = 2, kNvvm = 3 };

/// These values are stored in cache entries and are those of build.proto: never change them.
enum class ArtifactKind : uint8_t { kPtx = 1, kCubin = 2, kLtoIr = 3, kOptixIr = 4 };

/// These values are hashed and are those of build.proto: never change them.
enum class LinkInputType : uint8_t {
  kUnspecified = 0,
  kCubin = 1,
  kPtx = 2,
  kLtoIr = 3,
  kFatbin = 4,
  kObject = 5,
  kLibrary = 6,
};

struct InlineHeader {
  std::string name;
  std::string contents;
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
};

struct NvrtcProgram {
  std::string source;
  std::string name;
  std::vector<std::string> options;
  std::vector<InlineHeader> headers;
  std::vector<std::string> name_expressions;
  std::vector<EnvironmentVariable> environment;
  bool append_toolchain_headers = false;
  std::shared_ptr<const HeaderSet> header_set;  ///< headers before `headers`; null: none

  /// Calls `visit` with the name and the contents of each header that the compiler gets, in order.
  template <typename Visit>
  void ForEachHeader(const Visit& visit) const {
    if (header_set != nullptr) {
      for (const HeaderText& header : header_set->headers) visit(header.name, header.contents);
    }
    for (const InlineHeader& header : headers) {
      visit(std::string_view(header.name), std::string_view(header.contents));
    }
  }
};

struct LinkInput {
  LinkInputType type = LinkInputType::kUnspecified;
  std::string name;
  std::string contents;
};

struct LinkProgram {
  std::vector<LinkInput> inputs;
  std::vector<std::string> options;
};

struct NvvmModule {
  std::string name;
  std::string contents;
  bool lazy = false;
};

struct NvvmProgram {
  std::vector<NvvmModule> modules;
  std::vector<std::string> options;
  bool add_libdevice = false;
};

/// The client's choice of a toolchain. At most one member is set. If none is set, the daemon uses
/// the newest toolchain whose output the client's driver can load.
struct ToolchainSelector {
  std::string id;  ///< the toolchain's id or a prefix; or a library (kLibraryMark)
  std::string version;
  uint32_t major = 0;
};

/// These values are those of build.proto. The priority does not enter the key.
enum class BuildPriority : uint8_t { kNormal = 0, kInteractive = 1, kWarmUp = 2 };

/// What to do with a build that is not in the cache. The values are those of build.proto. The
/// action does not enter the key.
enum class MissAction : uint8_t {
  kWait = 0,    ///< compiles, but stops when no client waits any more
  kRefuse = 1,  ///< compiles nothing and returns an error
  kFinish = 2,  ///< compiles, even if no client waits any more
};

struct BuildRequest {
  std::variant<NvrtcProgram, LinkProgram, NvvmProgram> program;
  ToolchainSelector toolchain;
  /// The result of cuDriverGetVersion(): 13000 for CUDA 13.0. 0 if the client has no driver.
  uint32_t driver_version = 0;
  /// An absolute path. Empty if it is unknown.
  std::string working_directory;
  /// The client's view of the file system. None if it can't be compared with the daemon's view. The
  /// daemon then must not open files by the paths that the client names.
  std::optional<FilesView> files_view;
  BuildPriority priority = BuildPriority::kNormal;
  MissAction on_miss = MissAction::kWait;

  [[nodiscard]] BuildKind kind() const { return static_cast<BuildKind>(program.index() + 1); }
};

/// Returns the size in bytes of the request's texts and contents.
[[nodiscard]] size_t BytesOf(const BuildRequest& request);

}  // namespace cccl_cache

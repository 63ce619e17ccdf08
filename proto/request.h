// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cccl_cache {

/// The meaning of a thread's paths: in two equal views, every absolute path names the same file.
/// The kernel never uses 0.
struct FilesView {
  uint64_t mount_namespace = 0;  ///< inode of its namespace's file
  uint64_t root_device = 0;      ///< of "/", another one after chroot
  uint64_t root_inode = 0;
  /// The mount of "/". It differs if a bind mount of the same directory is the root, which may lack
  /// submounts of the first one. Since Linux 6.8 the number is never reused; 0: unknown (before
  /// 5.8).
  uint64_t root_mount = 0;

  bool operator==(const FilesView&) const = default;
};

/// Returns the view of the calling thread, which may have entered another namespace or root than
/// its process. None if /proc is not mounted. Makes one system call if the kernel never reuses
/// mount numbers and the thread's root is unchanged, else two. A mount stays in one namespace, and
/// reading the namespace takes five times as long as reading the root.
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

// A client's request as plain values: the C++ form of proto/cccl_cache/v1/build.proto with blobs
// resolved. Both sides of the socket compute fingerprints from these types.

/// Stored in entries and fed to hashes: values never change.
enum class BuildKind : uint8_t { kNvrtc = 1, kLink = 2, kNvvm = 3 };

/// Stored in entries: values never change; the same numbers as in build.proto.
enum class ArtifactKind : uint8_t { kPtx = 1, kCubin = 2, kLtoIr = 3, kOptixIr = 4 };

/// Fed to hashes: values never change; the same numbers as in build.proto.
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

/// At most one is set; none: the newest toolchain whose output the client's driver can load.
struct ToolchainSelector {
  std::string id;  ///< or a library in its place: kLibraryMark
  std::string version;
  uint32_t major = 0;
};

/// Numbers as in build.proto. Not part of the key.
enum class BuildPriority : uint8_t { kNormal = 0, kInteractive = 1, kWarmUp = 2 };

/// The action of a build that has to be compiled. Numbers as in build.proto. Not part of the key.
enum class MissAction : uint8_t {
  kWait = 0,    ///< waits; the compile is cancelled when its last caller leaves
  kRefuse = 1,  ///< ends with an error, and nothing is compiled
  kFinish = 2,  ///< waits; the compile is finished also if its callers leave
};

struct BuildRequest {
  std::variant<NvrtcProgram, LinkProgram, NvvmProgram> program;
  ToolchainSelector toolchain;
  /// As cuDriverGetVersion returns it (13000 for 13.0); 0: no driver.
  uint32_t driver_version = 0;
  /// Absolute, or empty: unknown.
  std::string working_directory;
  /// The client's view of the file system, if it may be compared with the daemon's; none: the
  /// daemon must not open files by the client's names.
  std::optional<FilesView> files_view;
  BuildPriority priority = BuildPriority::kNormal;
  MissAction on_miss = MissAction::kWait;

  [[nodiscard]] BuildKind kind() const { return static_cast<BuildKind>(program.index() + 1); }
};

/// Returns the size in bytes of the request's texts and contents.
[[nodiscard]] size_t BytesOf(const BuildRequest& request);

}  // namespace cccl_cache

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/files_view.h"

/// What a client asks for, as plain values: the C++ form of proto/cccl_cache/v1/build.proto after
/// blobs were resolved. Both sides of the socket compute fingerprints from these types.
namespace cccl_cache {

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

struct NvrtcProgram {
  std::string source;
  std::string name;
  std::vector<std::string> options;
  std::vector<InlineHeader> headers;
  std::vector<std::string> name_expressions;
  std::vector<std::pair<std::string, std::string>> environment;
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

/// At most one is set; none: the newest toolchain that the client's driver can load.
struct ToolchainSelector {
  std::string id;
  std::string version;
  uint32_t major = 0;
};

struct BuildRequest {
  std::variant<NvrtcProgram, LinkProgram, NvvmProgram> program;
  ToolchainSelector toolchain;
  /// As cuDriverGetVersion says (13000 for 13.0); 0: no driver.
  uint32_t driver_version = 0;
  /// Absolute, or empty: unknown.
  std::string working_directory;
  /// Whether the daemon finds the client's files under the client's names; none: it must not
  /// assume so.
  std::optional<FilesView> files_view;

  [[nodiscard]] BuildKind kind() const { return static_cast<BuildKind>(program.index() + 1); }
};

/// What the request's texts and contents take.
[[nodiscard]] size_t BytesOf(const BuildRequest& request);

}  // namespace cccl_cache

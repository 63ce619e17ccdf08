// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/wire.h"
#include "client/src/c_abi/handles.h"
#include "client/src/calls/file_digest.h"
#include "client/src/calls/release_upload.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

using cccl_cache::After;
using cccl_cache::CancellationDisabled;
using cccl_cache::Expected;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::ToView;

namespace fields = cccl_cache::fields;

namespace {

struct Component {
  std::string id;
  std::string path;
  std::string stamp;
};

struct Toolchain {
  std::string id;
  std::string version;
  std::vector<Component> components;
  std::vector<std::string> architectures;
};

Component ReadComponent(cccl_cache::ProtoReader* reader) {
  using Field = fields::ToolchainComponent;
  Component component;
  while (const uint32_t number = reader->Next()) {
    if (number == Field::kId) component.id = reader->Bytes();
    if (number == Field::kPath) component.path = reader->Bytes();
    if (number == Field::kStamp) component.stamp = reader->Bytes();
  }
  return component;
}

Toolchain ReadToolchain(cccl_cache::ProtoReader* reader) {
  using Field = fields::Toolchain;
  Toolchain toolchain;
  while (const uint32_t number = reader->Next()) {
    if (number == Field::kId) toolchain.id = reader->Bytes();
    if (number == Field::kVersion) toolchain.version = reader->Bytes();
    if (number == Field::kComponents) {
      cccl_cache::ProtoReader component = reader->Message();
      toolchain.components.push_back(ReadComponent(&component));
    }
    if (number == Field::kArchitectures) toolchain.architectures.push_back(reader->Bytes());
  }
  return toolchain;
}

/// Returns the toolchains in the daemon's reply, in the same order.
Expected<std::vector<Toolchain>> ReadToolchains(const cccl_cache::Message& reply) {
  std::vector<Toolchain> all;
  cccl_cache::ProtoReader reader(reply.View());
  while (const uint32_t number = reader.Next()) {
    if (number != fields::ToolchainsReply::kToolchains) continue;
    cccl_cache::ProtoReader toolchain = reader.Message();
    all.push_back(ReadToolchain(&toolchain));
  }
  if (!reader.ok()) return cccl_cache::NotUnderstood("a question for toolchains");
  return all;
}

/// Returns the first toolchain that has a component for which `fits` returns true. A component that
/// is the file `library` itself has precedence. Null: there is none.
template <typename Fits>
const Toolchain* FirstWith(const std::vector<Toolchain>& all, const std::string& library,
                           const Fits& fits) {
  const Toolchain* found = nullptr;
  for (const Toolchain& toolchain : all) {
    for (const Component& component : toolchain.components) {
      if (!fits(component)) continue;
      std::error_code error;
      if (std::filesystem::equivalent(component.path, library, error)) return &toolchain;
      if (found == nullptr) found = &toolchain;
    }
  }
  return found;
}

const Toolchain* WithLibrary(const std::vector<Toolchain>& all, const std::string& library) {
  const std::vector<std::string> files = cccl_cache::ComponentOf(library).files;
  if (files.empty()) return nullptr;
  if (const auto stamp = cccl_cache::StampOfFiles(files)) {
    // An equal stamp proves that the daemon has read the same files, and that they are unchanged.
    const auto same_files = [&](const Component& each) { return each.stamp == stamp->Hex(); };
    if (const Toolchain* found = FirstWith(all, library, same_files)) return found;
  }
  const std::optional<cccl_cache::Digest> id = cccl_cache::ComponentIdOf(library);
  if (!id) return nullptr;
  return FirstWith(all, library, [&](const Component& each) { return each.id == id->Hex(); });
}

/// Returns the architectures of a toolchain as numbers: 90 for sm_90. Only NVRTC can list them. For
/// a toolchain without NVRTC, returns those of another toolchain of the same version.
std::vector<uint32_t> ArchitecturesOf(const Toolchain& toolchain,
                                      const std::vector<Toolchain>& all) {
  const std::vector<std::string>* names = &toolchain.architectures;
  for (const Toolchain& each : all) {
    if (names->empty() && each.version == toolchain.version) names = &each.architectures;
  }
  std::vector<uint32_t> numbers;
  for (const std::string& name : *names) {
    uint32_t number = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with("sm_") || std::from_chars(name.data() + 3, end, number).ptr != end) {
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

cccl_cache_status cccl_cache_toolchain_with_library(cccl_cache_client* client,
                                                    cccl_cache_bytes path, uint32_t timeout_ms,
                                                    cccl_cache_library_toolchain* found,
                                                    cccl_cache_error** error) {
  const CancellationDisabled guard;
  const auto reply = client->daemon.Toolchains(After(timeout_ms));
  if (!reply.ok()) return Fail(reply.error(), error);
  const auto all = ReadToolchains(*reply);
  if (!all.ok()) return Fail(all.error(), error);
  const std::string library(ToView(path));
  const Toolchain* const toolchain = WithLibrary(*all, library);
  if (toolchain == nullptr) {
    return Fail({CCCL_CACHE_TOOLCHAIN_NOT_FOUND, "no toolchain of the daemon has " + library},
                error);
  }
  cccl_cache_library_toolchain known = {};
  toolchain->id.copy(known.id, sizeof(known.id) - 1);
  const std::vector<uint32_t> architectures = ArchitecturesOf(*toolchain, *all);
  if (architectures.size() <= std::size(known.architectures)) {
    known.architecture_count = architectures.size();
    std::ranges::copy(architectures, known.architectures);
  }
  FillStruct(known, found);
  return CCCL_CACHE_OK;
}

int32_t cccl_cache_files_stamp(const cccl_cache_bytes* paths, size_t count, char stamp[65]) {
  const CancellationDisabled guard;
  std::vector<std::string> files;
  for (size_t i = 0; i < count; ++i) files.emplace_back(ToView(paths[i]));
  const std::optional<cccl_cache::Digest> all = cccl_cache::StampOfFiles(files);
  const std::string digits = all ? all->Hex() : "";
  stamp[digits.copy(stamp, 64)] = '\0';
  return all.has_value();
}

cccl_cache_status cccl_cache_add_release(cccl_cache_client* client, cccl_cache_bytes path,
                                         uint32_t timeout_ms, int32_t* added,
                                         cccl_cache_error** error) {
  const CancellationDisabled guard;
  const auto given = cccl_cache::AddRelease(&client->daemon.channel(), std::string(ToView(path)),
                                            After(timeout_ms));
  if (!given.ok()) return Fail(given.error(), error);
  *added = *given ? 1 : 0;
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_find_release(cccl_cache_client* client, cccl_cache_bytes path,
                                          uint32_t timeout_ms, char version[32],
                                          cccl_cache_error** error) {
  const CancellationDisabled guard;
  constexpr size_t kMostVersion = 31;
  std::fill_n(version, kMostVersion + 1, '\0');
  const auto found = cccl_cache::FindRelease(&client->daemon.channel(), std::string(ToView(path)),
                                             After(timeout_ms));
  if (!found.ok()) return Fail(found.error(), error);
  found->copy(version, kMostVersion);
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_check_health(cccl_cache_client* client, uint32_t timeout_ms,
                                          int32_t* serving, cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto health = client->daemon.Health(After(timeout_ms));
  if (!health.ok()) return Fail(std::move(health).error(), error);
  *serving = *health ? 1 : 0;
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_check_ready(cccl_cache_client* client, uint32_t timeout_ms,
                                         int32_t* ready, cccl_cache_error** error) {
  const CancellationDisabled guard;
  const auto reply = client->daemon.Info(After(timeout_ms));
  if (!reply.ok()) return Fail(reply.error(), error);
  *ready = 1;
  cccl_cache::ProtoReader reader(reply->View());
  while (const uint32_t number = reader.Next()) {
    if (number == fields::InfoReply::kProblem && !reader.View().empty()) *ready = 0;
  }
  if (!reader.ok()) return Fail(cccl_cache::NotUnderstood("a question for its problem"), error);
  return CCCL_CACHE_OK;
}

// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "client/src/c_abi/handles.h"
#include "client/src/calls/file_digest.h"
#include "client/src/calls/release_upload.h"

using cccl_cache::After;
using cccl_cache::CancellationDisabled;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::ToBytes;
using cccl_cache::ToView;
using cccl_cache::ZeroStruct;

namespace {

// Null: there is none of that index.
const CcclCache__V1__Toolchain* At(const cccl_cache_toolchains* toolchains, size_t index) {
  if (index >= toolchains->reply->n_toolchains) return nullptr;
  return toolchains->reply->toolchains[index];
}

}  // namespace

cccl_cache_status cccl_cache_get_toolchains(cccl_cache_client* client, uint32_t driver_version,
                                            uint32_t timeout_ms, cccl_cache_toolchains** toolchains,
                                            cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto reply = client->daemon.Toolchains(driver_version, After(timeout_ms));
  if (!reply.ok()) return Fail(std::move(reply).error(), error);
  *toolchains = new cccl_cache_toolchains{*std::move(reply)};
  return CCCL_CACHE_OK;
}

size_t cccl_cache_toolchains_count(const cccl_cache_toolchains* toolchains) {
  return toolchains->reply->n_toolchains;
}

void cccl_cache_toolchains_item(const cccl_cache_toolchains* toolchains, size_t index,
                                cccl_cache_toolchain* toolchain) {
  const CcclCache__V1__Toolchain* found = At(toolchains, index);
  if (found == nullptr) return ZeroStruct(toolchain);
  const CcclCache__V1__Toolchain& fields = *found;
  cccl_cache_toolchain known = {};
  known.id = ToBytes(fields.id);
  known.version = ToBytes(fields.version);
  known.root = ToBytes(fields.root);
  known.selected_by_default = fields.selected_by_default;
  known.component_count = fields.n_components;
  known.header_directory_count = fields.n_header_directories;
  known.accepted_option_count = fields.n_accepted_options;
  known.architecture_count = fields.n_architectures;
  FillStruct(known, toolchain);
}

void cccl_cache_toolchains_component(const cccl_cache_toolchains* toolchains, size_t toolchain,
                                     size_t index, cccl_cache_component* component) {
  const CcclCache__V1__Toolchain* found = At(toolchains, toolchain);
  if (found == nullptr || index >= found->n_components) {
    return ZeroStruct(component);
  }
  const CcclCache__V1__ToolchainComponent& fields = *found->components[index];
  cccl_cache_component known = {};
  known.name = ToBytes(fields.name);
  known.version = ToBytes(fields.version);
  known.id = ToBytes(fields.id);
  known.path = ToBytes(fields.path);
  FillStruct(known, component);
}

cccl_cache_bytes cccl_cache_toolchains_header_directory(const cccl_cache_toolchains* toolchains,
                                                        size_t toolchain, size_t index) {
  const CcclCache__V1__Toolchain* found = At(toolchains, toolchain);
  if (found == nullptr || index >= found->n_header_directories) return {};
  return ToBytes(found->header_directories[index]);
}

cccl_cache_bytes cccl_cache_toolchains_accepted_option(const cccl_cache_toolchains* toolchains,
                                                       size_t toolchain, size_t index) {
  const CcclCache__V1__Toolchain* found = At(toolchains, toolchain);
  if (found == nullptr || index >= found->n_accepted_options) return {};
  return ToBytes(found->accepted_options[index]);
}

cccl_cache_bytes cccl_cache_toolchains_architecture(const cccl_cache_toolchains* toolchains,
                                                    size_t toolchain, size_t index) {
  const CcclCache__V1__Toolchain* found = At(toolchains, toolchain);
  if (found == nullptr || index >= found->n_architectures) return {};
  return ToBytes(found->architectures[index]);
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

size_t cccl_cache_toolchains_with_library(const cccl_cache_toolchains* toolchains,
                                          cccl_cache_bytes path) {
  const CancellationDisabled guard;
  const std::string library(ToView(path));
  using Component = CcclCache__V1__ToolchainComponent;
  const auto first = [&](const auto& fits) {
    size_t found = CCCL_CACHE_NO_TOOLCHAIN;
    for (size_t i = 0; i < toolchains->reply->n_toolchains; ++i) {
      const CcclCache__V1__Toolchain& toolchain = *toolchains->reply->toolchains[i];
      for (size_t j = 0; j < toolchain.n_components; ++j) {
        const Component& component = *toolchain.components[j];
        if (!fits(component)) continue;
        std::error_code error;
        if (std::filesystem::equivalent(component.path, library, error)) return i;
        found = std::min(found, i);
      }
    }
    return found;
  };
  const std::vector<std::string> files = cccl_cache::ComponentOf(library).files;
  if (files.empty()) return CCCL_CACHE_NO_TOOLCHAIN;
  if (const auto stamp = cccl_cache::StampOfFiles(files)) {
    // Equal stamps: the daemon read the same files.
    const auto same_files = [&](const Component& each) { return each.stamp == stamp->Hex(); };
    const size_t found = first(same_files);
    if (found != CCCL_CACHE_NO_TOOLCHAIN) return found;
  }
  const std::optional<cccl_cache::Digest> id = cccl_cache::ComponentIdOf(library);
  if (!id) return CCCL_CACHE_NO_TOOLCHAIN;
  return first([&](const Component& each) { return each.id == id->Hex(); });
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

size_t cccl_cache_toolchains_rejected_count(const cccl_cache_toolchains* toolchains) {
  return toolchains->reply->n_rejected;
}

void cccl_cache_toolchains_rejected(const cccl_cache_toolchains* toolchains, size_t index,
                                    cccl_cache_rejected_toolchain* rejected) {
  if (index >= toolchains->reply->n_rejected) {
    return ZeroStruct(rejected);
  }
  cccl_cache_rejected_toolchain known = {};
  known.root = ToBytes(toolchains->reply->rejected[index]->root);
  known.reason = ToBytes(toolchains->reply->rejected[index]->reason);
  FillStruct(known, rejected);
}

void cccl_cache_toolchains_free(cccl_cache_toolchains* toolchains) { delete toolchains; }

cccl_cache_status cccl_cache_check_health(cccl_cache_client* client, uint32_t timeout_ms,
                                          int32_t* serving, cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto health = client->daemon.Health(After(timeout_ms));
  if (!health.ok()) return Fail(std::move(health).error(), error);
  *serving = *health ? 1 : 0;
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_get_info(cccl_cache_client* client, uint32_t timeout_ms,
                                      cccl_cache_info** info, cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto reply = client->daemon.Info(After(timeout_ms));
  if (!reply.ok()) return Fail(std::move(reply).error(), error);
  *info = new cccl_cache_info{*std::move(reply)};
  return CCCL_CACHE_OK;
}

void cccl_cache_info_describe(const cccl_cache_info* info, cccl_cache_daemon* daemon) {
  const CcclCache__V1__InfoReply& fields = *info->reply;
  cccl_cache_daemon known = {};
  known.version = ToBytes(fields.version);
  known.api_minor = fields.api_minor;
  known.fingerprint_layout = fields.fingerprint_layout;
  known.uid = fields.uid;
  known.problem = ToBytes(fields.problem);
  if (const CcclCache__V1__Limits* limits = fields.limits) {
    known.message_bytes = limits->message_bytes;
    known.source_bytes = limits->source_bytes;
    known.headers = limits->headers;
    known.upload_bytes_per_uid = limits->upload_bytes_per_uid;
    known.connections_per_uid = limits->connections_per_uid;
    known.calls_per_uid = limits->calls_per_uid;
    known.calls = limits->calls;
    known.build_seconds = limits->build_seconds;
    known.worker_bytes = limits->worker_bytes;
    known.failures_remembered_seconds = limits->failures_remembered_seconds;
    known.deposit_bytes = limits->deposit_bytes;
    known.deposit_bytes_per_uid = limits->deposit_bytes_per_uid;
    known.leases_per_uid = limits->leases_per_uid;
    known.lease_heartbeat_ms = limits->lease_heartbeat_ms;
    known.queued = limits->queued;
    known.queued_per_uid = limits->queued_per_uid;
    known.bytes_in_flight = limits->bytes_in_flight;
    known.bytes_in_flight_per_uid = limits->bytes_in_flight_per_uid;
    known.connections = limits->connections;
    known.upload_bytes = limits->upload_bytes;
    known.lease_seconds = limits->lease_seconds;
  }
  FillStruct(known, daemon);
}

void cccl_cache_info_free(cccl_cache_info* info) { delete info; }

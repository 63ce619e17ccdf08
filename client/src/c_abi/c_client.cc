// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "cccl_cache/client_c.h"
#include "client/src/c_abi/handles.h"
#include "client/src/c_abi/this_process.h"
#include "client/src/transport/address.h"
#include "client/src/wire/request_message.h"

using cccl_cache::AsThisProcess;
using cccl_cache::CancellationDisabled;
using cccl_cache::Deadline;
using cccl_cache::Done;
using cccl_cache::Expected;
using cccl_cache::Fail;
using cccl_cache::FallbackPolicy;
using cccl_cache::KeepAlive;
using cccl_cache::ReadStruct;
using cccl_cache::RequestMessage;
using cccl_cache::ResultCache;
using cccl_cache::ToBytes;
using cccl_cache::ToView;

namespace {

template <typename Program>
cccl_cache_status Build(cccl_cache_client* client, const Program* program,
                        const cccl_cache_build_options* given_options, cccl_cache_result** result,
                        cccl_cache_error** error) {
  const AsThisProcess build(ReadStruct(program), ReadStruct(given_options));
  const auto asked = ResultCache::Clock::now();
  const Deadline deadline = cccl_cache::DeadlineOf(build.options());
  RequestMessage request;
  Expected<Done> made = request.SetProgram(build.program());
  if (made.ok()) made = request.SetNamedOptions(build.options());
  if (!made.ok()) return Fail(std::move(made).error(), error);
  if (auto known = client->memory.Find(request)) {
    *result = new cccl_cache_result{{.reply = std::move(known), .total = {}, .from_memory = true}};
    return CCCL_CACHE_OK;
  }
  const auto priority = cccl_cache::PriorityOf(build.options());
  if (!priority.ok()) return Fail(priority.error(), error);
  made = request.SetOptions(build.options(), *priority);
  if (!made.ok()) return Fail(std::move(made).error(), error);
  auto reply = client->fallback.Build(&client->daemon, &request, deadline);
  if (!reply.ok()) return Fail(std::move(reply).error(), error);
  if (reply->why_local.empty()) {
    client->memory.Keep(client->memory.NameOf(request), reply->reply, asked);
  }
  *result = new cccl_cache_result{*std::move(reply)};
  return CCCL_CACHE_OK;
}

}  // namespace

cccl_cache_status cccl_cache_open(const cccl_cache_open_options* options,
                                  cccl_cache_client** client, cccl_cache_error** error) {
  const CancellationDisabled guard;
  const cccl_cache_open_options given = ReadStruct(options);
  auto socket = cccl_cache::FindSocket(
      cccl_cache::SocketSearch::FromEnvironment(std::string(ToView(given.socket))));
  FallbackPolicy policy = {.local = given.fallback == CCCL_CACHE_FALLBACK_LOCAL,
                           .local_after = std::chrono::milliseconds(given.local_after_ms),
                           .compiler = std::string(ToView(given.local_compiler)),
                           .quiet = given.quiet_fallback != 0};
  if (!socket.ok() && !policy.local) return Fail(std::move(socket).error(), error);
  auto memory = cccl_cache::MemoryLimit(given.process_cache_bytes);
  if (!memory.ok()) return Fail(std::move(memory).error(), error);
  const std::chrono::milliseconds silence(given.silence_ms);
  const auto patience =
      silence.count() == 0 ? KeepAlive::kMax : std::min(silence / 2, KeepAlive::kMax);
  *client = new cccl_cache_client{cccl_cache::DaemonStub(std::move(socket), patience),
                                  cccl_cache::Fallback(std::move(policy)),
                                  cccl_cache::ResultCache(*memory)};
  return CCCL_CACHE_OK;
}

cccl_cache_bytes cccl_cache_client_socket(const cccl_cache_client* client) {
  return ToBytes(client->daemon.socket());
}

void cccl_cache_client_describe(const cccl_cache_client* client, cccl_cache_client_info* info) {
  const cccl_cache::ResultCache::Statistics statistics = client->memory.statistics();
  cccl_cache_client_info known = {};
  known.process_hits = statistics.hits;
  known.process_entries = statistics.entries;
  known.process_bytes = statistics.bytes;
  cccl_cache::FillStruct(known, info);
}

void cccl_cache_close(cccl_cache_client* client) {
  const CancellationDisabled guard;
  delete client;
}

cccl_cache_status cccl_cache_build_nvrtc(cccl_cache_client* client, const cccl_cache_nvrtc* program,
                                         const cccl_cache_build_options* options,
                                         cccl_cache_result** result, cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Build(client, program, options, result, error);
}

cccl_cache_status cccl_cache_build_link(cccl_cache_client* client, const cccl_cache_link* program,
                                        const cccl_cache_build_options* options,
                                        cccl_cache_result** result, cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Build(client, program, options, result, error);
}

cccl_cache_status cccl_cache_build_nvvm(cccl_cache_client* client, const cccl_cache_nvvm* program,
                                        const cccl_cache_build_options* options,
                                        cccl_cache_result** result, cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Build(client, program, options, result, error);
}

cccl_cache_status cccl_cache_error_status(const cccl_cache_error* error) {
  return error->error.status;
}

cccl_cache_bytes cccl_cache_error_message(const cccl_cache_error* error) {
  return ToBytes(error->error.message);
}

uint32_t cccl_cache_error_retry_after_ms(const cccl_cache_error* error) {
  return error->error.retry_after_ms;
}

void cccl_cache_error_free(cccl_cache_error* error) { delete error; }

namespace {

/// Libraries whose file names show the major version of CUDA. If several are loaded, the first of
/// this list decides.
constexpr std::array<std::string_view, 3> kLibraries = {"libnvrtc.so.", "libnvJitLink.so.",
                                                        "libcudart.so."};
/// The result of the last search. The low byte is the major version that was found. The other bits
/// are the number of libraries that the process had loaded and unloaded.
std::atomic<uint64_t> last_look = 0;

struct Search {
  uint64_t last;
  uint64_t now = 0;
  size_t rank = kLibraries.size();
  uint32_t major = 0;
};

uint32_t MajorOf(std::string_view version) {
  uint32_t major = 0;
  for (const char digit : version.substr(0, 2)) {
    if (digit < '0' || digit > '9') break;
    major = major * 10 + static_cast<uint32_t>(digit - '0');
  }
  return major;
}

int Look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  search->now = info->dlpi_adds + info->dlpi_subs;
  if (search->now == search->last >> 8) return 1;
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (size_t rank = 0; rank < search->rank; ++rank) {
    if (!name.starts_with(kLibraries[rank])) continue;
    search->major = MajorOf(name.substr(kLibraries[rank].size()));
    search->rank = rank;
  }
  return 0;
}

}  // namespace

uint32_t cccl_cache_loaded_cuda_major(void) {
  Search search = {last_look.load(std::memory_order_relaxed)};
  if (dl_iterate_phdr(Look, &search) != 0) return search.last & 0xff;
  last_look.store(search.now << 8 | search.major, std::memory_order_relaxed);
  return search.major;
}

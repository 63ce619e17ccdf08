// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The exported functions of libnvJitLink. The inputs of a link are collected, and nvJitLinkComplete
// sends them to the daemon in one request. In every other case (for example, the program adds a
// file or misuses a function, or the link fails), all calls for this link so far are repeated in
// the real library, which then handles the rest. The real library also
// handles the links that it created itself. tests/integration/test_standin_calls.py compares the
// answers of the stand-in with those of the real library.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "client/interpose/handles.h"
#include "client/interpose/nvjitlink/functions.h"
#include "client/interpose/nvjitlink/link.h"

namespace {

using cccl_cache::CancellationDisabled;
using cccl_cache::interpose::CountedCall;
using cccl_cache::interpose::Handles;
using cccl_cache::interpose::Link;
using cccl_cache::interpose::Reason;

constexpr LinkCode kSuccess = 0;
constexpr LinkCode kInternal = 7;

constinit Handles<LinkHandle, Link> links;

/// Returns the stand-in's object of the link. Null if the link was destroyed or belongs to the real
/// library.
Link* Of(LinkHandle handle) { return links.Find(handle); }

/// Returns the handle of the link in the real library, and creates it there if necessary. Null if
/// the link was destroyed or the real library can't be loaded.
LinkHandle RealOf(LinkHandle handle) {
  if (Link* own = Of(handle)) return own->Real();
  return links.Owns(handle) ? nullptr : handle;
}

/// Calls a function of the real library. Returns kInternal if the library does not have it.
template <typename... Parameters>
LinkCode Forward(LinkCode (*real)(Parameters...), std::type_identity_t<Parameters>... values) {
  return real == nullptr ? kInternal : real(values...);
}

/// Returns the daemon's output of this kind for the link. None if the real library must answer.
std::optional<std::string_view> LinkedOf(LinkHandle link, cccl_cache_artifact_kind kind) {
  const Link* const own = Of(link);
  return own == nullptr ? std::nullopt : own->Linked(kind);
}

/// Returns whether the stand-in knows the logs of the link. Then the error log is empty.
bool IsQuiet(LinkHandle link) { return Of(link) != nullptr && Of(link)->quiet(); }

// The real library's __nvJitLinkAPI returns pointers to internal functions, which need the real
// library's link as their first argument. So the program gets a wrapper, one for each function,
// that replaces the handle.
using ByNumber = void*(LinkHandle, void*, void*, void*, void*, void*);
constexpr size_t kMaxByNumber = 8;
std::array<std::atomic<ByNumber*>, kMaxByNumber> by_number;

template <size_t index>
void* CallByNumber(LinkHandle link, void* a, void* b, void* c, void* d, void* e) {
  const CancellationDisabled guard;
  return by_number[index].load()(RealOf(link), a, b, c, d, e);
}

template <size_t index = 0>
void* WithRealLink(void* function) {
  if constexpr (index < kMaxByNumber) {
    ByNumber* known = nullptr;
    auto* const given = reinterpret_cast<ByNumber*>(function);
    if (given == nullptr) return nullptr;
    if (by_number[index].compare_exchange_strong(known, given) || known == given) {
      return reinterpret_cast<void*>(&CallByNumber<index>);
    }
    return WithRealLink<index + 1>(function);
  }
  // All wrappers are in use. Null means that the release has no such function. The real function
  // itself must not be returned, because it would take a stand-in's handle for one of its own.
  return nullptr;
}

}  // namespace

LinkCode nvJitLinkCreate(LinkHandle* link, uint32_t count, const char** options) {
  const CancellationDisabled guard;
  if (link != nullptr && options != nullptr &&
      std::find(options, options + count, nullptr) == options + count) {
    std::vector<std::string> given(options, options + count);
    if (Link::Knows(given)) {
      LinkHandle const handle = links.Add(std::make_unique<Link>(std::move(given)));
      if (handle != nullptr) {
        *link = handle;
        return kSuccess;
      }
    }
  }
  // Also creates a link that fails: releases differ in whether the log of a failed link can be
  // read.
  return Forward(REAL_LINK(Create), link, count, options);
}

LinkCode nvJitLinkDestroy(LinkHandle* link) {
  const CancellationDisabled guard;
  if (link == nullptr || !links.Owns(*link)) return Forward(REAL_LINK(Destroy), link);
  const std::unique_ptr<Link> destroyed = links.Remove(*link);
  *link = nullptr;
  return destroyed == nullptr ? Forward(REAL_LINK(Destroy), link) : kSuccess;
}

LinkCode nvJitLinkAddData(LinkHandle link, int type, const void* data, size_t size,
                          const char* name) {
  const CancellationDisabled guard;
  if (Link* own = Of(link)) return own->Add(type, data, size, name);
  return Forward(REAL_LINK(AddData), RealOf(link), type, data, size, name);
}

LinkCode nvJitLinkAddFile(LinkHandle link, int type, const char* path) {
  const CancellationDisabled guard;
  return Forward(REAL_LINK(AddFile), RealOf(link), type, path);
}

LinkCode nvJitLinkComplete(LinkHandle link) {
  const CancellationDisabled guard;
  if (Link* own = Of(link)) return own->Complete();
  LinkHandle const real = RealOf(link);
  if (real == nullptr) return Forward(REAL_LINK(Complete), real);
  CountedCall call;
  call.Forward(Reason::kNotServed);
  return Forward(REAL_LINK(Complete), real);
}

// Defines the functions that return the size and the bytes of a link's output. `ending` is 1 for a
// text, whose size includes its NUL.
#define LINKED(Name, Out, kind, ending)                                     \
  LinkCode nvJitLinkGetLinked##Name##Size(LinkHandle link, size_t* size) {  \
    const CancellationDisabled guard;                                       \
    const auto linked = LinkedOf(link, kind);                               \
    if (!linked || size == nullptr) {                                       \
      return Forward(REAL_LINK(GetLinked##Name##Size), RealOf(link), size); \
    }                                                                       \
    *size = linked->size() + (ending);                                      \
    return kSuccess;                                                        \
  }                                                                         \
  LinkCode nvJitLinkGetLinked##Name(LinkHandle link, Out* out) {            \
    const CancellationDisabled guard;                                       \
    const auto linked = LinkedOf(link, kind);                               \
    if (!linked || out == nullptr) {                                        \
      return Forward(REAL_LINK(GetLinked##Name), RealOf(link), out);        \
    }                                                                       \
    /* the byte behind a text is its NUL */                                 \
    std::memcpy(out, linked->data(), linked->size() + (ending));            \
    return kSuccess;                                                        \
  }
LINKED(Cubin, void, CCCL_CACHE_CUBIN, 0)
LINKED(Ptx, char, CCCL_CACHE_PTX, 1)
LINKED(LTOIR, void, CCCL_CACHE_LTOIR, 0)

// Defines the functions that return the size and the text of a log. For an empty log, the size is
// 0, but the text function still writes a NUL.
#define LOG(Name, log)                                                   \
  LinkCode nvJitLinkGet##Name##LogSize(LinkHandle link, size_t* size) {  \
    const CancellationDisabled guard;                                    \
    if (!IsQuiet(link) || size == nullptr) {                             \
      return Forward(REAL_LINK(Get##Name##LogSize), RealOf(link), size); \
    }                                                                    \
    *size = (log).empty() ? 0 : (log).size() + 1;                        \
    return kSuccess;                                                     \
  }                                                                      \
  LinkCode nvJitLinkGet##Name##Log(LinkHandle link, char* out) {         \
    const CancellationDisabled guard;                                    \
    if (!IsQuiet(link) || out == nullptr) {                              \
      return Forward(REAL_LINK(Get##Name##Log), RealOf(link), out);      \
    }                                                                    \
    *std::ranges::copy(log, out).out = '\0';                             \
    return kSuccess;                                                     \
  }
LOG(Error, std::string_view())
LOG(Info, Of(link)->info_log())

LinkCode nvJitLinkVersion(unsigned* major, unsigned* minor) {
  const CancellationDisabled guard;
  return Forward(REAL(nvJitLinkVersion), major, minor);
}

void* __nvJitLinkAPI(unsigned function) {
  const CancellationDisabled guard;
  const auto real = REAL(__nvJitLinkAPI);
  return real == nullptr ? nullptr : WithRealLink(real(function));
}

// Each release of the library exports every function also under a name with the release number,
// such as __nvJitLinkCreate_12_4. All names of a function are equivalent.
#define NAMED(function, release)                                                         \
  extern "C" __attribute__((visibility("default"),                                       \
                            alias("nvJitLink" #function))) decltype(nvJitLink##function) \
      __nvJitLink##function##_##release;
#define NAMES(release)               \
  NAMED(Create, release)             \
  NAMED(Destroy, release)            \
  NAMED(AddData, release)            \
  NAMED(AddFile, release)            \
  NAMED(Complete, release)           \
  NAMED(GetLinkedCubinSize, release) \
  NAMED(GetLinkedCubin, release)     \
  NAMED(GetLinkedPtxSize, release)   \
  NAMED(GetLinkedPtx, release)       \
  NAMED(GetLinkedLTOIRSize, release) \
  NAMED(GetLinkedLTOIR, release)     \
  NAMED(GetErrorLogSize, release)    \
  NAMED(GetErrorLog, release)        \
  NAMED(GetInfoLogSize, release)     \
  NAMED(GetInfoLog, release)
NAMES(12_0)
NAMES(12_1)
NAMES(12_2)
NAMES(12_3)
NAMES(12_4)
NAMES(12_5)
NAMES(12_6)
NAMES(12_7)
NAMES(12_8)
NAMES(12_9)
NAMES(13_0)
NAMES(13_1)
NAMES(13_2)
NAMES(13_3)
NAMES(13_4)
NAMES(13_5)

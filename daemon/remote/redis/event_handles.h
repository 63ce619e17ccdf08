// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/event.h>

#include <memory>

namespace cccl_cache::daemon {

/// Smart pointers for objects of libevent. All objects of one event base must be used on one
/// thread.
template <auto kFree>
struct FreeHandle {
  template <typename Type>
  void operator()(Type* pointer) const {
    kFree(pointer);
  }
};
inline void FreeDns(evdns_base* dns) { evdns_base_free(dns, 0); }

using EventBase = std::unique_ptr<event_base, FreeHandle<event_base_free>>;
using Event = std::unique_ptr<event, FreeHandle<event_free>>;
using BufferEvent = std::unique_ptr<bufferevent, FreeHandle<bufferevent_free>>;
using Dns = std::unique_ptr<evdns_base, FreeHandle<FreeDns>>;

}  // namespace cccl_cache::daemon

/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Deposits: artifacts that clients make themselves, one client at a time, and that the daemon
 * keeps. Part of client_c.h. A deposit is private to the user, or to a named group that the user is
 * a member of. Other users can't see that it exists. timeout_ms 0: 20 minutes for an acquire,
 * which is the time for which another client may hold the lease by default; 30 seconds for all
 * other calls. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_deposit cccl_cache_deposit;
typedef struct cccl_cache_lease cccl_cache_lease;
typedef struct cccl_cache_deposits cccl_cache_deposits;

typedef struct cccl_cache_deposit_field {
  cccl_cache_bytes name;
  cccl_cache_bytes
      value; /* any bytes; hash large values: the limit for all together is about 1 MiB */
} cccl_cache_deposit_field;

/* Identifies a deposit: two with equal keys are the same. The order of the fields does not matter.
 * Field names must be unique. */
typedef struct cccl_cache_deposit_key {
  size_t struct_size;
  cccl_cache_bytes name_space; /* the program that owns the keys: "org.example.tool" */
  const cccl_cache_deposit_field* fields;
  size_t field_count;
  cccl_cache_bytes group;    /* name or number; empty: private to the user */
  int32_t released_at_limit; /* non-zero: cccl_cache_acquire does not wait while the user holds as
                                many leases as the daemon allows; `lease` is then released */
  int32_t replaces;          /* non-zero: cccl_cache_acquire returns the lease also if this user has
                                deposited the contents on this node, to replace them. Others get the
                                old contents until the publication. */
  int32_t waits_only;        /* non-zero: cccl_cache_acquire never returns a lease that is held. It
                                returns the deposit, waits while another client makes it, and
                                otherwise returns a released `lease` at once. */
} cccl_cache_deposit_key;

/* Returns the deposit, or the lease to make it: exactly one of `hit` and `lease` is set. While
 * another client holds the lease, the call waits until that client publishes, or for the lease.
 * If that client fails, `lease` is not held: see cccl_cache_lease_released. A call also waits while
 * the user holds as many leases as the daemon allows, unless released_at_limit is set.
 * CCCL_CACHE_DEADLINE: timeout_ms passed. Safe to call again after any error. */
CCCL_CACHE_API cccl_cache_status cccl_cache_acquire(cccl_cache_client* client,
                                                    const cccl_cache_deposit_key* key,
                                                    uint32_t timeout_ms, cccl_cache_deposit** hit,
                                                    cccl_cache_lease** lease,
                                                    cccl_cache_error** error);

/* Both return views that are valid as long as the deposit. The id is its key in hexadecimal. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_deposit_contents(const cccl_cache_deposit* deposit);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_deposit_id(const cccl_cache_deposit* deposit);
CCCL_CACHE_API void cccl_cache_deposit_free(cccl_cache_deposit* deposit);

/* A lease owns a connection, and a thread that sends heartbeats to the daemon. It is used by one
 * thread at a time; only cccl_cache_lease_held is thread-safe. It may outlive the client. The lease
 * is lost when the daemon ends or the process is stopped for long. A child after fork() does not
 * hold it. */

/* Returns non-zero while the lease is held, as far as the client knows. */
CCCL_CACHE_API int32_t cccl_cache_lease_held(const cccl_cache_lease* lease);
/* Returns non-zero if this client waited for another client's lease, and that client failed to make
 * the contents, if released_at_limit is set and the limit is reached, or if waits_only is set and
 * there is no deposit. This client makes the contents for itself and can't publish them
 * (CCCL_CACHE_LEASE_LOST). */
CCCL_CACHE_API int32_t cccl_cache_lease_released(const cccl_cache_lease* lease);
/* Returns the key in hexadecimal. Valid as long as the lease. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_lease_id(const cccl_cache_lease* lease);
/* Returns the fencing token. It is greater than that of every earlier lease of this daemon, so it
 * can protect other resources. */
CCCL_CACHE_API uint64_t cccl_cache_lease_fence(const cccl_cache_lease* lease);
/* Publishes the deposit and ends the lease; waiting clients receive the deposit.
 * CCCL_CACHE_LEASE_LOST: the lease was lost and nothing was deposited. If the daemon ended during
 * the call, the message says that the result is unknown; acquire again to find out.
 * CCCL_CACHE_UNAVAILABLE: the daemon is silent (silence_ms), and the result is unknown too. */
CCCL_CACHE_API cccl_cache_status cccl_cache_lease_publish(cccl_cache_lease* lease,
                                                          cccl_cache_bytes contents,
                                                          uint32_t timeout_ms,
                                                          cccl_cache_error** error);
/* Releases the lease without a deposit; the next waiter gets it. */
CCCL_CACHE_API void cccl_cache_lease_abandon(cccl_cache_lease* lease);
/* Releases the lease because the contents can't be made, as with source that does not compile. All
 * waiters are released at once and go on without a lease. Nothing is remembered. */
CCCL_CACHE_API void cccl_cache_lease_fail(cccl_cache_lease* lease);
/* Frees the lease, and abandons it if it is still held. */
CCCL_CACHE_API void cccl_cache_lease_free(cccl_cache_lease* lease);

typedef struct cccl_cache_deposit_info {
  size_t struct_size;
  cccl_cache_bytes key; /* hexadecimal */
  cccl_cache_bytes name_space;
  int32_t is_group; /* not 0: the group's members may read it */
  uint32_t gid;
  uint64_t size;    /* of the contents */
  uint64_t made_at; /* seconds since 1970 */
  uint64_t used_at; /* approximate */
} cccl_cache_deposit_info;

/* Returns this user's deposits, in the order of the keys. */
CCCL_CACHE_API cccl_cache_status cccl_cache_list_deposits(cccl_cache_client* client,
                                                          uint32_t timeout_ms,
                                                          cccl_cache_deposits** deposits,
                                                          cccl_cache_error** error);
CCCL_CACHE_API size_t cccl_cache_deposits_count(const cccl_cache_deposits* deposits);
/* Fills the struct. The fields are zero if `index` is not below the count. */
CCCL_CACHE_API void cccl_cache_deposits_item(const cccl_cache_deposits* deposits, size_t index,
                                             cccl_cache_deposit_info* info);
CCCL_CACHE_API void cccl_cache_deposits_free(cccl_cache_deposits* deposits);

/* Removes a deposit of this user. Sets `*removed` to 0 if the key has none. */
CCCL_CACHE_API cccl_cache_status cccl_cache_remove_deposit(cccl_cache_client* client,
                                                           cccl_cache_bytes key,
                                                           uint32_t timeout_ms, int32_t* removed,
                                                           cccl_cache_error** error);

/* Records a use of each of these deposits that exists. The daemon evicts deposits that have not
 * been used for long, so a program that reads its own copies of deposits should call this now and
 * then. Does not return which of them exist. */
CCCL_CACHE_API cccl_cache_status
cccl_cache_touch_deposits(cccl_cache_client* client, const cccl_cache_deposit_key* const* keys,
                          size_t key_count, uint32_t timeout_ms, cccl_cache_error** error);

#ifdef __cplusplus
}
#endif

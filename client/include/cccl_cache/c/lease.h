/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* What only clients can make, kept by the daemon and made by one client at a time. Part of
 * client_c.h. A deposit is private to the user, or to a group that is named and that the user is a
 * member of; to anyone else it does not exist. timeout_ms 0: ten minutes for an acquire, 30 seconds
 * for all else. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_deposit cccl_cache_deposit;
typedef struct cccl_cache_lease cccl_cache_lease;
typedef struct cccl_cache_deposits cccl_cache_deposits;

typedef struct cccl_cache_deposit_field {
  cccl_cache_bytes name;
  cccl_cache_bytes value; /* any bytes; hash what is large: all together may have some 1 MiB */
} cccl_cache_deposit_field;

/* All that decides whether two deposits are the same. The order of the fields does not matter, no
 * two may have one name. */
typedef struct cccl_cache_deposit_key {
  size_t struct_size;
  cccl_cache_bytes name_space; /* whose keys these are: "org.example.tool" */
  const cccl_cache_deposit_field* fields;
  size_t field_count;
  cccl_cache_bytes group; /* name or number; empty: private to the user */
} cccl_cache_deposit_key;

/* What is deposited, or the lease to make it: exactly one of `hit` and `lease` is set. While
 * another client holds the lease this waits for what that one publishes, or for the lease.
 * CCCL_CACHE_DEADLINE: it waited for timeout_ms. Safe to call again after any error. */
CCCL_CACHE_API cccl_cache_status cccl_cache_acquire(cccl_cache_client* client,
                                                    const cccl_cache_deposit_key* key,
                                                    uint32_t timeout_ms, cccl_cache_deposit** hit,
                                                    cccl_cache_lease** lease,
                                                    cccl_cache_error** error);

/* Both are valid as long as the deposit; the id is its key, hexadecimal. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_deposit_contents(const cccl_cache_deposit* deposit);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_deposit_id(const cccl_cache_deposit* deposit);
CCCL_CACHE_API void cccl_cache_deposit_free(cccl_cache_deposit* deposit);

/* A lease keeps a connection of its own, and a thread that tells the daemon that this process
 * lives. It is used by one thread at a time, but for cccl_cache_lease_held, and need not be freed
 * before the client. It is lost when the daemon ends or the process is stopped for long; in a child
 * after fork() it is not held. */

/* Not 0: held still, as far as is known. */
CCCL_CACHE_API int32_t cccl_cache_lease_held(const cccl_cache_lease* lease);
/* The key, hexadecimal. Valid as long as the lease. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_lease_id(const cccl_cache_lease* lease);
/* Greater than that of every earlier lease of this daemon: for who guards something else by it. */
CCCL_CACHE_API uint64_t cccl_cache_lease_fence(const cccl_cache_lease* lease);
/* Deposits what was made, and so ends the lease; whoever waits is handed it.
 * CCCL_CACHE_LEASE_LOST: it was not held any more and nothing was deposited, unless the message
 * says that this is not known, for the daemon ended meanwhile. To acquire again tells. */
CCCL_CACHE_API cccl_cache_status cccl_cache_lease_publish(cccl_cache_lease* lease,
                                                          cccl_cache_bytes contents,
                                                          uint32_t timeout_ms,
                                                          cccl_cache_error** error);
/* Ends the lease; the next one who waits gets it. */
CCCL_CACHE_API void cccl_cache_lease_abandon(cccl_cache_lease* lease);
/* Abandons it if it is held still. */
CCCL_CACHE_API void cccl_cache_lease_free(cccl_cache_lease* lease);

typedef struct cccl_cache_deposit_info {
  size_t struct_size;
  cccl_cache_bytes key; /* hexadecimal */
  cccl_cache_bytes name_space;
  int32_t is_group; /* not 0: its members may have it */
  uint32_t gid;
  uint64_t size;    /* of the contents */
  uint64_t made_at; /* seconds since 1970 */
  uint64_t used_at; /* roughly */
} cccl_cache_deposit_info;

/* What this user deposited, in the order of the keys. */
CCCL_CACHE_API cccl_cache_status cccl_cache_list_deposits(cccl_cache_client* client,
                                                          uint32_t timeout_ms,
                                                          cccl_cache_deposits** deposits,
                                                          cccl_cache_error** error);
CCCL_CACHE_API size_t cccl_cache_deposits_count(const cccl_cache_deposits* deposits);
/* Fills the struct; with zeros where `index` is not below the count. */
CCCL_CACHE_API void cccl_cache_deposits_item(const cccl_cache_deposits* deposits, size_t index,
                                             cccl_cache_deposit_info* info);
CCCL_CACHE_API void cccl_cache_deposits_free(cccl_cache_deposits* deposits);

/* Forgets a deposit of this user's; `*removed` is 0 if there is none under the key. */
CCCL_CACHE_API cccl_cache_status cccl_cache_remove_deposit(cccl_cache_client* client,
                                                           cccl_cache_bytes key,
                                                           uint32_t timeout_ms, int32_t* removed,
                                                           cccl_cache_error** error);

#ifdef __cplusplus
}
#endif

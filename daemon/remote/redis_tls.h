// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
};
using Tls = std::unique_ptr<SSL, FreeTls>;

/// Makes the client's side of a TLS connection, of 1.2 or newer, to a server that must prove to be
/// `host`, a name or an IP address. Certificates of the file are trusted; without a file, those
/// that the system trusts.
[[nodiscard]] Result<Tls> MakeTls(const std::string& host, const std::string& ca_file);

/// Returns why the other side's certificate was refused; empty: it was not.
[[nodiscard]] std::string CertificateProblem(const SSL* tls);

}  // namespace cccl_cache::daemon

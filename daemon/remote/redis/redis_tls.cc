// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace cccl_cache::daemon {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

/// Files in which systems keep the certificates that they trust. OpenSSL's default can't be used
/// first: it is the file of the system on which OpenSSL was built.
constexpr const char* kSystemCertificates[] = {
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",              // SUSE
};

bool TrustSystem(SSL_CTX* context) {
  for (const char* file : kSystemCertificates) {
    if (access(file, R_OK) == 0) return SSL_CTX_load_verify_locations(context, file, nullptr) == 1;
  }
  return SSL_CTX_set_default_verify_paths(context) == 1;
}

bool IsIp(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address) == 1;
}

/// Makes the handshake fail if the server's certificate is not for this host.
bool Demand(SSL* tls, const std::string& host) {
  if (IsIp(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host.c_str()) == 1;
  SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(tls, host.c_str()) == 1 && SSL_set_tlsext_host_name(tls, host.c_str()) == 1;
}

}  // namespace

Result<Tls> MakeTls(const std::string& host, const std::string& ca_file) {
  const std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  Tls tls;
  if (context != nullptr && SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1) {
    const bool trusts = ca_file.empty() ? TrustSystem(context.get())
                                        : SSL_CTX_load_verify_locations(
                                              context.get(), ca_file.c_str(), nullptr) == 1;
    if (!trusts) {
      ERR_clear_error();
      return Error{ErrorCode::kInvalidRequest,
                   ca_file.empty() ? "the certificates that this system trusts can't be read: name "
                                     "a file of them with remote_ca_file"
                                   : fmt::format("remote_ca_file: no certificate can be read from "
                                                 "{}: it must be a readable PEM file",
                                                 ca_file)};
    }
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    tls.reset(SSL_new(context.get()));
  }
  if (tls == nullptr || !Demand(tls.get(), host)) {
    ERR_clear_error();
    return Error{ErrorCode::kUnavailable, "TLS can't be set up"};
  }
  return tls;
}

std::string CertificateProblem(const SSL* tls) {
  const long result = SSL_get_verify_result(tls);
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

}  // namespace cccl_cache::daemon

#include "mankai/remote/detail/tls_session.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <climits>
#include <new>

namespace mankai::detail {
namespace {

std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();  // NOLINT(google-runtime-int): OpenSSL's type
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

bool is_ip(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

int size_of(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

std::unexpected<Error> unreadable(const std::string& file) {
  return fail(ErrorCode::invalid_argument, file + ": cannot be used: " + last_reason() + "; give a PEM file");
}

Result<void> load_files(SSL_CTX* context, const RedisAddress& address) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const std::string& authorities = address.ca_certificates;
  if (authorities.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, authorities.c_str(), nullptr) != 1) {
    return unreadable(authorities);
  }
  if (address.certificate.empty()) {
    return {};
  }
  if (SSL_CTX_use_certificate_chain_file(context, address.certificate.c_str()) != 1) {
    return unreadable(address.certificate);
  }
  return SSL_CTX_use_PrivateKey_file(context, address.certificate_key.c_str(), SSL_FILETYPE_PEM) == 1
             ? Result<void>()
             : unreadable(address.certificate_key);
}

}  // namespace

Result<std::unique_ptr<TlsSession>> TlsSession::create(const RedisAddress& address) {
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) {
    throw std::bad_alloc();
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  MANKAI_TRY(load_files(context.get(), address));
  SSL* const session = SSL_new(context.get());
  BIO* const received = BIO_new(BIO_s_mem());
  BIO* const output = BIO_new(BIO_s_mem());
  if (session == nullptr || received == nullptr || output == nullptr) {
    throw std::bad_alloc();
  }
  SSL_set_bio(session, received, output);
  std::unique_ptr<TlsSession> created(new TlsSession(context.release(), session));
  // Without a name to compare, any certificate of the authority would be accepted.
  const bool has_name = is_ip(address.host)
                            ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), address.host.c_str()) == 1
                            : !address.host.empty() && SSL_set1_host(session, address.host.c_str()) == 1 &&
                                  SSL_set_tlsext_host_name(session, address.host.c_str()) == 1;
  if (!has_name) {
    return fail(ErrorCode::invalid_argument, "'" + address.host + "' is not a host name that a certificate can have");
  }
  SSL_set_connect_state(session);
  return created;
}

Result<bool> TlsSession::shake_hands() {
  const int done = SSL_do_handshake(session_.get());
  if (done == 1) {
    return true;
  }
  const int code = SSL_get_error(session_.get(), done);
  return code == SSL_ERROR_WANT_READ ? Result<bool>(false) : broken(code);
}

Result<void> TlsSession::encrypt(std::string_view plain) {
  while (!plain.empty()) {
    const int done = SSL_write(session_.get(), plain.data(), size_of(plain.size()));
    if (done <= 0) {
      return broken(SSL_get_error(session_.get(), done));
    }
    plain.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

void TlsSession::add_received(std::string_view encrypted) {
  if (BIO_write(SSL_get_rbio(session_.get()), encrypted.data(), size_of(encrypted.size())) !=
      size_of(encrypted.size())) {
    throw std::bad_alloc();
  }
}

Result<std::size_t> TlsSession::decrypt(std::span<char> room) {
  const int done = SSL_read(session_.get(), room.data(), size_of(room.size()));
  if (done > 0) {
    return static_cast<std::size_t>(done);
  }
  const int code = SSL_get_error(session_.get(), done);
  return code == SSL_ERROR_WANT_READ ? Result<std::size_t>(0) : broken(code);
}

void TlsSession::take_output(std::string& encrypted) {
  BIO* const output = SSL_get_wbio(session_.get());
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(output, &bytes);
  if (size > 0) {
    encrypted.append(bytes, static_cast<std::size_t>(size));
    BIO_reset(output);
  }
}

std::unexpected<Error> TlsSession::broken(int code) const {
  if (code == SSL_ERROR_ZERO_RETURN) {
    return fail(ErrorCode::io, "no connection: the server closed it");
  }
  const auto verdict = SSL_get_verify_result(session_.get());
  if (verdict != X509_V_OK) {
    ERR_clear_error();
    const bool is_of_another_name =
        verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH;
    return fail(ErrorCode::invalid_argument,
                std::string("the server's certificate is not accepted: ") + X509_verify_cert_error_string(verdict) +
                    (is_of_another_name ? "; give a host that its subjectAltName has"
                                        : "; give the authority's certificate with cacert=FILE"));
  }
  return fail(ErrorCode::io, "TLS: " + last_reason());
}

}  // namespace mankai::detail

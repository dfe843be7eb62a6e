#include "http/tls.private.h"

#include "common/assert.h"
#include "common/heap.h"
#include "http/pem.private.h"
#include "http/revocations.private.h"
#include "http/server.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <string.h>

#define DEFAULT_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define NAME_SIZE          4096

static gnutls_datum_t datum_of(const char *text) {
    return (gnutls_datum_t){ .data = (unsigned char *)(uintptr_t)text,
                             .size = (unsigned)strlen(text) };
}

/* libmicrohttpd itself would not report the reason. */
static int try_texts(const struct http_tls *tls, const struct http_server_settings *settings,
                     struct error *err) {
    gnutls_datum_t cert = datum_of(tls->cert), key = datum_of(tls->key);
    gnutls_certificate_credentials_t credentials;
    int code = gnutls_certificate_allocate_credentials(&credentials);

    if (code < 0)
        return error_set(err, ERROR_INTERNAL, "TLS: %s", gnutls_strerror(code));
    code = gnutls_certificate_set_x509_key_mem(credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    if (code < 0)
        error_set(err, ERROR_BAD_REQUEST, "%s and its key: %s", settings->cert_file,
                  gnutls_strerror(code));
    if (code >= 0 && tls->ca) {
        gnutls_datum_t ca = datum_of(tls->ca);

        code = gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM);
        if (code == 0)
            code = GNUTLS_E_NO_CERTIFICATE_FOUND;
        if (code < 0)
            error_set(err, ERROR_BAD_REQUEST, "%s: %s", settings->ca_file, gnutls_strerror(code));
    }
    gnutls_certificate_free_credentials(credentials);
    return code < 0 ? -1 : 0;
}

static int try_priorities(const char *priorities, struct error *err) {
    gnutls_priority_t parsed;
    const unsigned *versions;
    const char *wrong = priorities;
    int code = gnutls_priority_init(&parsed, priorities, &wrong), count;

    if (code < 0)
        return error_set(err, ERROR_BAD_REQUEST, "TLS priorities %s: %s at \"%s\"", priorities,
                         gnutls_strerror(code), wrong);
    code = 0;
    count = gnutls_priority_protocol_list(parsed, &versions);
    for (int i = 0; i < count && code == 0; i++)
        if (versions[i] != GNUTLS_TLS1_2 && versions[i] != GNUTLS_TLS1_3)
            code = error_set(err, ERROR_BAD_REQUEST,
                             "TLS priorities %s: they allow %s; 1.2 is the least", priorities,
                             gnutls_protocol_get_name((gnutls_protocol_t)versions[i]));
    gnutls_priority_deinit(parsed);
    return code;
}

int http_tls_read(struct arena *arena, const struct http_server_settings *settings,
                  struct http_tls *ret, struct error *err) {
    const char *key_file = settings->key_file ? settings->key_file : settings->cert_file;
    struct http_tls tls = { .priorities =
                                settings->priorities ? settings->priorities : DEFAULT_PRIORITIES };

    assert(settings->cert_file && (settings->ca_file || !settings->crl_file));
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return error_set(err, ERROR_BAD_REQUEST, "this libmicrohttpd was built without TLS");
    if (!(tls.cert = pem_text(arena, settings->cert_file, err)) ||
        !(tls.key = pem_text(arena, key_file, err)) ||
        (settings->ca_file && !(tls.ca = pem_text(arena, settings->ca_file, err))) ||
        try_texts(&tls, settings, err) < 0 || try_priorities(tls.priorities, err) < 0 ||
        (settings->crl_file && revocations_open(settings->crl_file, &tls.revocations, err) < 0))
        return -1;
    tls.priorities = arena_text(arena, tls.priorities);
    *ret = tls;
    return 0;
}

static bool is_trusted(gnutls_session_t session) {
    gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
                                      .data =
                                          (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT };
    unsigned status = 0;

    return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0;
}

/* libmicrohttpd requests a certificate, but does not verify it.  The name is formatted as in the
 * storage daemons' configuration. */
char *http_tls_client(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const gnutls_datum_t *shown;
    gnutls_x509_crt_t certificate;
    char name[NAME_SIZE] = "";
    size_t size = sizeof(name);
    unsigned count = 0;
    int code;

    if (!info || !info->tls_session || !is_trusted(info->tls_session))
        return NULL;
    shown = gnutls_certificate_get_peers(info->tls_session, &count);
    if (!shown || count == 0 || gnutls_x509_crt_init(&certificate) < 0)
        return NULL;
    code = gnutls_x509_crt_import(certificate, shown, GNUTLS_X509_FMT_DER);
    if (code == 0)
        code = gnutls_x509_crt_get_dn(certificate, name, &size);
    gnutls_x509_crt_deinit(certificate);
    return code == 0 || code == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE ? heap_text(name) : NULL;
}

bool http_tls_is_revoked(struct revocations *revocations, struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned count = 0;
    const gnutls_datum_t *shown =
        info && info->tls_session ? gnutls_certificate_get_peers(info->tls_session, &count) : NULL;

    return !shown || revocations_have(revocations, shown, count);
}

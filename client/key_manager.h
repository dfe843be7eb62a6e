/*
 * The key manager (Barbican, API v1): certificates.
 *
 * Thread-safe; a call blocks for [barbican] barbican_request_timeout, and as long again for each
 * response of Keystone that it needs.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"

#define KEY_MANAGER_CERTIFICATE_MOST ((size_t)16 << 10) /* bytes */

struct key_manager;

extern const struct option key_manager_options[];

/* *ret is NULL when the configuration has none with certificates.  The config must live as long. */
int key_manager_new(const struct config *config, struct key_manager **ret, struct error *err);
void key_manager_free(struct key_manager *manager); /* NULL is fine */

struct key_manager_call {
    const char *id;         /* of the certificate */
    const char *token;      /* of the caller: its rights count; NULL: of the service's own user */
    const char *request_id; /* sent as the global request id; NULL: none */
};

/* The payload of a secret that is a certificate, as it is stored; NULL: see err.  ERROR_NOT_FOUND:
 * there is none; ERROR_FORBIDDEN: not for this user; ERROR_TOO_LARGE; ERROR_BAD_REQUEST: a secret
 * of another kind; ERROR_UNAVAILABLE: no usable response. */
const void *key_manager_certificate(struct key_manager *manager, struct arena *arena,
                                    const struct key_manager_call *call, size_t *ret_size,
                                    struct error *err);

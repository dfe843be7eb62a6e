#include "http/tls_group.h"

#include <gnutls/gnutls.h>

const char *tls_group_text(struct arena *arena, struct error *err) {
    gnutls_dh_params_t group;
    gnutls_datum_t printed;
    const char *text;
    int code = gnutls_dh_params_init(&group);

    if (code >= 0) {
        code = gnutls_dh_params_import_raw2(group, &gnutls_ffdhe_3072_group_prime,
                                            &gnutls_ffdhe_3072_group_generator,
                                            gnutls_ffdhe_3072_key_bits);
        if (code >= 0)
            code = gnutls_dh_params_export2_pkcs3(group, GNUTLS_X509_FMT_PEM, &printed);
        gnutls_dh_params_deinit(group);
    }
    if (code < 0) {
        error_set(err, ERROR_INTERNAL, "TLS: %s", gnutls_strerror(code));
        return NULL;
    }
    text = arena_text_n(arena, (const char *)printed.data, printed.size);
    gnutls_free(printed.data);
    return text;
}

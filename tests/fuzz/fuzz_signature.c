/*
 * Any bytes as the certificate of a signed image, as its key type, hash and signature, and as the
 * signed bytes: refused with a reason, or no signature of them.
 */
#include "data/signature.h"

#include "common/cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int holds) {
    if (!holds)
        abort();
}

static void check(const struct signature_claim *claim, const void *bytes, size_t size) {
    struct error err = { .kind = ERROR_NONE };
    struct signature *signature = signature_new(claim, &err);

    if (!signature) {
        must(err.kind == ERROR_BAD_REQUEST && err.message[0]);
        return;
    }
    signature_add(signature, bytes, size);
    must(signature_check(signature, &err) < 0 && err.kind == ERROR_BACKEND);
    signature_free(signature);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const char *const types[] = { "RSA-PSS", "DSA", "ECC_SECT571K1", "ECC_SECP384R1" };
    autofree char *text = malloc(size + 1);

    must(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (size_t i = 0; i < LENGTH(types); i++)
        check(&(struct signature_claim){ types[i], "SHA-256", "c2ln", bytes, size }, bytes, size);
    check(&(struct signature_claim){ text, text, text, bytes, size }, bytes, size);
    check(&(struct signature_claim){ "DSA", "SHA-512", text, bytes, size }, bytes, size);
    return 0;
}

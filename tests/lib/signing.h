/*
 * Signers of images: a key, its certificate, and signatures as OpenStack's tools make them.
 */
#pragma once

#include "common/arena.h"
#include "common/base64.h"

#include <check.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

struct signer {
    EVP_PKEY *key;
    const char *pem;
    const void *der;
    size_t der_size;
};

static inline EVP_PKEY *signing_dsa_key(unsigned bits) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "DSA", NULL);
    EVP_PKEY *parameters = NULL, *key = NULL;

    ck_assert(EVP_PKEY_paramgen_init(context) == 1);
    ck_assert(EVP_PKEY_CTX_set_dsa_paramgen_bits(context, (int)bits) == 1);
    ck_assert(EVP_PKEY_paramgen(context, &parameters) == 1);
    EVP_PKEY_CTX_free(context);
    context = EVP_PKEY_CTX_new_from_pkey(NULL, parameters, NULL);
    ck_assert(EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_keygen(context, &key) == 1);
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(parameters);
    return key;
}

/* "RSA" or "DSA" with so many bits, "ED25519", or a curve. */
static inline EVP_PKEY *signing_key(const char *algorithm, unsigned bits) {
    if (strcmp(algorithm, "DSA") == 0)
        return signing_dsa_key(bits);
    if (strcmp(algorithm, "RSA") == 0)
        return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
    if (strcmp(algorithm, "ED25519") == 0)
        return EVP_PKEY_Q_keygen(NULL, NULL, algorithm);
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", algorithm);
}

static inline X509 *signing_certificate(EVP_PKEY *key, EVP_PKEY *by) {
    X509 *certificate = X509_new();

    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)"signer", -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), -3600);
    X509_set_pubkey(certificate, key);
    ck_assert_int_gt(X509_sign(certificate, by, EVP_PKEY_is_a(by, "ED25519") ? NULL : EVP_sha256()),
                     0);
    return certificate;
}

/* Its certificate has expired, as those of most images have. */
static inline struct signer signing_begin(struct arena *arena, const char *algorithm,
                                          unsigned bits) {
    struct signer signer = { .key = signing_key(algorithm, bits) };
    X509 *certificate = signing_certificate(signer.key, signer.key);
    BIO *bio = BIO_new(BIO_s_mem());
    unsigned char *der = NULL;
    char *text;
    long size;

    ck_assert_ptr_nonnull(signer.key);
    ck_assert_int_eq(PEM_write_bio_X509(bio, certificate), 1);
    size = BIO_get_mem_data(bio, &text);
    signer.pem = arena_text_n(arena, text, (size_t)size);
    signer.der_size = (size_t)i2d_X509(certificate, &der);
    signer.der = arena_copy(arena, der, signer.der_size);
    OPENSSL_free(der);
    BIO_free(bio);
    X509_free(certificate);
    return signer;
}

static inline void signing_end(struct signer *signer) {
    EVP_PKEY_free(signer->key);
}

/* In base64; `hash`: "SHA-256", …; `salt`: of RSA-PSS. */
static inline const char *signing_sign_with(struct arena *arena, const struct signer *signer,
                                            const char *hash, int salt, const void *bytes,
                                            size_t size) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char signature[4096];
    size_t length = sizeof(signature);
    EVP_PKEY_CTX *parameters;

    ck_assert_int_eq(
        EVP_DigestSignInit_ex(context, &parameters, hash, NULL, NULL, signer->key, NULL), 1);
    if (EVP_PKEY_is_a(signer->key, "RSA")) {
        EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
        EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, salt);
    }
    ck_assert_int_eq(EVP_DigestSign(context, signature, &length, bytes, size), 1);
    EVP_MD_CTX_free(context);
    return base64_text(arena, signature, length);
}

static inline const char *signing_sign(struct arena *arena, const struct signer *signer,
                                       const char *hash, const void *bytes, size_t size) {
    return signing_sign_with(arena, signer, hash, RSA_PSS_SALTLEN_MAX, bytes, size);
}

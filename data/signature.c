#include "data/signature.h"

#include "common/arena.h"
#include "common/base64.h"
#include "common/cleanup.h"
#include "common/heap.h"

#include <openssl/core_names.h>
#include <openssl/dsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MOST  ((size_t)16 << 10) /* of a signature */
#define BITS_LEAST 1024               /* of keys without a curve */

/* Of the names in images, and of libcrypto. */
struct key_type {
    const char *name, *algorithm;
    const char *curve; /* NULL: none */
    int bits_most;     /* of keys without one, as libcrypto verifies them */
};

static const struct key_type key_types[] = {
    { "RSA-PSS", "RSA", NULL, OPENSSL_RSA_MAX_MODULUS_BITS },
    { "DSA", "DSA", NULL, OPENSSL_DSA_MAX_MODULUS_BITS },
    { "ECC_SECT571K1", "EC", "sect571k1", 0 },
    { "ECC_SECT409K1", "EC", "sect409k1", 0 },
    { "ECC_SECT571R1", "EC", "sect571r1", 0 },
    { "ECC_SECT409R1", "EC", "sect409r1", 0 },
    { "ECC_SECP521R1", "EC", "secp521r1", 0 },
    { "ECC_SECP384R1", "EC", "secp384r1", 0 },
};

static const struct {
    const char *name, *algorithm;
} hash_methods[] = {
    { "SHA-224", "SHA2-224" },
    { "SHA-256", "SHA2-256" },
    { "SHA-384", "SHA2-384" },
    { "SHA-512", "SHA2-512" },
};

struct signature {
    EVP_MD_CTX *context;
    unsigned char *bytes;
    size_t size;
    bool failed; /* libcrypto has not taken all bytes */
};

static void cleanup_x509(X509 **certificate) {
    X509_free(*certificate);
}

static void cleanup_key(EVP_PKEY **key) {
    EVP_PKEY_free(*key);
}

static void cleanup_bio(BIO **bio) {
    BIO_free(*bio);
}

/* ---- the certificate ---- */

/* The library would query the terminal. */
static int no_password(char *buffer, int size, int is_new, void *arg) {
    (void)buffer, (void)size, (void)is_new, (void)arg;
    return -1;
}

static X509 *read_pem(const void *bytes, size_t size) {
    __attribute__((cleanup(cleanup_bio))) BIO *bio = BIO_new_mem_buf(bytes, (int)size);

    return bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
}

/* Bytes behind it are refused. */
static X509 *read_der(const unsigned char *bytes, size_t size) {
    const unsigned char *end = bytes;
    X509 *certificate = d2i_X509(NULL, &end, (long)size);

    if (!certificate || end == bytes + size)
        return certificate;
    X509_free(certificate);
    return NULL;
}

static bool is_der(const unsigned char *bytes, size_t size) {
    return size > 0 && bytes[0] == 0x30; /* a sequence; base64 of it begins with M */
}

static X509 *read_certificate(const void *bytes, size_t size) {
    autoarena struct arena *arena = arena_new();
    const void *decoded = bytes;

    if (memmem(bytes, size, "-----BEGIN", 10))
        return read_pem(bytes, size);
    if (!is_der(bytes, size))
        decoded = base64_bytes(arena, bytes, size, &size);
    if (!decoded)
        return NULL;
    return is_der(decoded, size) ? read_der(decoded, size) : read_pem(decoded, size);
}

/* ---- the key ---- */

static int bits_of(const EVP_PKEY *key, const char *number) {
    BIGNUM *value = NULL;
    int bits = EVP_PKEY_get_bn_param(key, number, &value) == 1 ? BN_num_bits(value) : 0;

    BN_free(value);
    return bits;
}

static int check_exponent(const EVP_PKEY *key, int bits, struct error *err) {
    int exponent = bits_of(key, OSSL_PKEY_PARAM_RSA_E);

    if (exponent < bits &&
        (bits <= OPENSSL_RSA_SMALL_MODULUS_BITS || exponent <= OPENSSL_RSA_MAX_PUBEXP_BITS))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "The key of the certificate has an exponent of %d bits.", exponent);
}

static int check_subgroup(const EVP_PKEY *key, struct error *err) {
    int bits = bits_of(key, OSSL_PKEY_PARAM_FFC_Q);

    if (bits == 160 || bits == 224 || bits == 256)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "The key of the certificate has a subgroup of %d bits; 160, 224 and 256 are "
                     "accepted.",
                     bits);
}

static int check_key(EVP_PKEY *key, const struct key_type *type, struct error *err) {
    int bits = EVP_PKEY_get_bits(key);
    char curve[80];

    if (!EVP_PKEY_is_a(key, type->algorithm) ||
        (type->curve && (EVP_PKEY_get_group_name(key, curve, sizeof(curve), NULL) != 1 ||
                         strcasecmp(curve, type->curve) != 0)))
        return error_set(err, ERROR_BAD_REQUEST,
                         "The key of the certificate is not of the type %s.", type->name);
    if (type->curve)
        return 0;
    /* libcrypto refuses other keys, too, but after all bytes */
    if (bits < BITS_LEAST || bits > type->bits_most)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The key of the certificate has %d bits; %d to %d are accepted.", bits,
                         BITS_LEAST, type->bits_most);
    return EVP_PKEY_is_a(key, "DSA") ? check_subgroup(key, err) : check_exponent(key, bits, err);
}

/* NULL: see err. */
static EVP_PKEY *find_key(const struct signature_claim *claim, const struct key_type *type,
                          struct error *err) {
    __attribute__((cleanup(cleanup_x509))) X509 *certificate = NULL;
    EVP_PKEY *key = NULL;

    if (claim->certificate_size <= SIGNATURE_CERTIFICATE_MOST)
        certificate = read_certificate(claim->certificate, claim->certificate_size);
    if (certificate)
        key = X509_get_pubkey(certificate);
    if (!key) {
        error_set(err, ERROR_BAD_REQUEST,
                  certificate ? "The certificate has a key of an unknown type."
                              : "The certificate is not one of X.509.");
        return NULL;
    }
    if (check_key(key, type, err) == 0)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

/* ---- the claim ---- */

static const struct key_type *find_type(const char *name) {
    for (size_t i = 0; name && i < LENGTH(key_types); i++)
        if (strcmp(key_types[i].name, name) == 0)
            return &key_types[i];
    return NULL;
}

static const char *find_hash(const char *name) {
    for (size_t i = 0; name && i < LENGTH(hash_methods); i++)
        if (strcmp(hash_methods[i].name, name) == 0)
            return hash_methods[i].algorithm;
    return NULL;
}

static int read_text(struct signature *signature, const char *text, struct error *err) {
    autoarena struct arena *arena = arena_new();
    size_t length = text ? strnlen(text, TEXT_MOST + 1) : 0;
    void *bytes = NULL;

    if (length <= TEXT_MOST && length > 0)
        bytes = base64_bytes(arena, text, length, &signature->size);
    if (!bytes || signature->size == 0)
        return error_set(err, ERROR_BAD_REQUEST, "The signature is not base64.");
    signature->bytes = heap_new(signature->size);
    memcpy(signature->bytes, bytes, signature->size);
    return 0;
}

static bool begin(struct signature *signature, EVP_PKEY *key, const struct key_type *type,
                  const char *hash) {
    EVP_PKEY_CTX *parameters;

    signature->context = EVP_MD_CTX_new();
    if (!signature->context ||
        EVP_DigestVerifyInit_ex(signature->context, &parameters, hash, NULL, NULL, key, NULL) != 1)
        return false;
    return strcmp(type->algorithm, "RSA") != 0 ||
           (EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1 &&
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(parameters, hash, NULL) == 1 &&
            EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_MAX) == 1);
}

static int fill(struct signature *signature, const struct signature_claim *claim,
                struct error *err) {
    const struct key_type *type = find_type(claim->key_type);
    const char *hash = find_hash(claim->hash_method);
    __attribute__((cleanup(cleanup_key))) EVP_PKEY *key = NULL;

    if (!type || !hash)
        return error_set(err, ERROR_BAD_REQUEST, "Unknown signature: key type %.64s, hash %.64s.",
                         claim->key_type ? claim->key_type : "missing",
                         claim->hash_method ? claim->hash_method : "missing");
    if (read_text(signature, claim->text, err) < 0)
        return -1;
    key = find_key(claim, type, err);
    if (!key)
        return -1;
    return begin(signature, key, type, hash)
               ? 0
               : error_set(err, ERROR_BAD_REQUEST, "A signature of %s with %s cannot be verified.",
                           type->name, claim->hash_method);
}

struct signature *signature_new(const struct signature_claim *claim, struct error *err) {
    struct signature *signature = heap_new(sizeof(*signature));
    int result = fill(signature, claim, err);

    ERR_clear_error(); /* of this thread, where others look for their own */
    if (result == 0)
        return signature;
    signature_free(signature);
    return NULL;
}

void signature_free(struct signature *signature) {
    if (!signature)
        return;
    EVP_MD_CTX_free(signature->context);
    free(signature->bytes);
    free(signature);
}

/* ---- the bytes ---- */

void signature_add(struct signature *signature, const void *bytes, size_t size) {
    signature->failed |= EVP_DigestVerifyUpdate(signature->context, bytes, size) != 1;
}

int signature_check(struct signature *signature, struct error *err) {
    bool valid = !signature->failed &&
                 EVP_DigestVerifyFinal(signature->context, signature->bytes, signature->size) == 1;

    ERR_clear_error();
    return valid ? 0 : error_set(err, ERROR_BACKEND, "The bytes do not have this signature.");
}

/*
 * Signatures of images: of each type of key and each hash, in each form of a certificate; and
 * those that are refused, hostile ones among them.
 */
#include "common/cleanup.h"
#include "data/signature_io.h"
#include "tests/lib/signing.h"
#include "tests/unit/data/volume_data.h"

#include <openssl/bn.h>
#include <openssl/param_build.h>

#define BYTES ((size_t)3 << 20)

#define ENCRYPTED                                                                 \
    "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC," \
    "00112233445566778899AABBCCDDEEFF\n\nMIIB\n-----END CERTIFICATE-----\n"

static const struct {
    const char *name, *algorithm;
    unsigned bits;
} types[] = {
    { "RSA-PSS", "RSA", 1024 },
    { "RSA-PSS", "RSA", 2047 },
    { "DSA", "DSA", 1024 },
    { "ECC_SECT571K1", "sect571k1", 0 },
    { "ECC_SECT409K1", "sect409k1", 0 },
    { "ECC_SECT571R1", "sect571r1", 0 },
    { "ECC_SECT409R1", "sect409r1", 0 },
    { "ECC_SECP521R1", "secp521r1", 0 },
    { "ECC_SECP384R1", "secp384r1", 0 },
};

static const char *const hashes[] = { "SHA-224", "SHA-256", "SHA-384", "SHA-512" };

static unsigned char content[BYTES];

static void fill_content(void) {
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (unsigned char)(i * 7 + i / 4096);
}

static struct volume_io *content_io(void) {
    struct volume_io *io = memory_volume((int64_t)sizeof(content));
    struct error err;

    for (size_t at = 0; at < sizeof(content); at += VOLUME_IO_MOST)
        ck_assert_int_eq(volume_io_write(io, content + at, VOLUME_IO_MOST, (int64_t)at, &err), 0);
    return io;
}

/* `arg`: two counters, of signatures that are not those of the bytes, and that are. */
static void note(void *arg, bool valid) {
    ((unsigned *)arg)[valid]++;
}

/* The kind of the failure of reading all bytes; ERROR_NONE: they have the signature. */
static enum error_kind read_all(struct signature *signature, unsigned counts[2]) {
    static unsigned char buffer[VOLUME_IO_MOST];
    autovolumeio struct volume_io *io = signature_io_open(content_io(), signature, note, counts);
    struct volume_io_extent extent;
    struct error err = { .kind = ERROR_NONE };
    size_t part = 333333;

    counts[false] = counts[true] = 0;
    ck_assert_int_eq(volume_io_extent(io, 0, &extent, &err), 0);
    ck_assert(!extent.zero && extent.size == io->size);
    for (size_t at = 0; at < BYTES; at += part) {
        part = BYTES - at < part ? BYTES - at : part;
        if (volume_io_read(io, buffer, part, (int64_t)at, &err) < 0)
            break;
        ck_assert_uint_eq(counts[false], 0);
        ck_assert_uint_eq(counts[true], at + part == BYTES);
    }
    return err.kind;
}

static void assert_outcome(const struct signature_claim *claim, bool valid) {
    struct error err;
    struct signature *signature = signature_new(claim, &err);
    unsigned counts[2];

    ck_assert_msg(signature != NULL, "%s %s: %s", claim->key_type, claim->hash_method, err.message);
    ck_assert_int_eq(read_all(signature, counts), valid ? ERROR_NONE : ERROR_BACKEND);
    ck_assert_uint_eq(counts[valid], 1);
    ck_assert_uint_eq(counts[!valid], 0);
}

static struct signature_claim claim_of(struct arena *arena, const struct signer *signer,
                                       const char *type, const char *hash) {
    return (struct signature_claim){ .key_type = type,
                                     .hash_method = hash,
                                     .text = signing_sign(arena, signer, hash, content, BYTES),
                                     .certificate = signer->pem,
                                     .certificate_size = strlen(signer->pem) };
}

static void assert_hashes(struct arena *arena, const struct signer *signer, const char *type) {
    for (size_t i = 0; i < LENGTH(hashes); i++) {
        struct signature_claim claim = claim_of(arena, signer, type, hashes[i]);

        assert_outcome(&claim, true);
        claim.hash_method = hashes[(i + 1) % LENGTH(hashes)];
        assert_outcome(&claim, false);
    }
}

static void assert_bytes(struct arena *arena, const struct signer *signer, const char *type) {
    static const size_t places[] = { 0, VOLUME_IO_MOST, BYTES - 1 };
    struct signature_claim claim = claim_of(arena, signer, type, "SHA-256");

    for (size_t i = 0; i < LENGTH(places); i++) {
        content[places[i]] ^= 1;
        assert_outcome(&claim, false);
        content[places[i]] ^= 1;
    }
}

START_TEST(signatures_of_all_types_are_verified) {
    fill_content();
    for (size_t i = 0; i < LENGTH(types); i++) {
        autoarena struct arena *arena = arena_new();
        struct signer signer = signing_begin(arena, types[i].algorithm, types[i].bits);

        assert_hashes(arena, &signer, types[i].name);
        assert_bytes(arena, &signer, types[i].name);
        signing_end(&signer);
    }
}
END_TEST

START_TEST(a_signature_by_another_key_is_refused) {
    autoarena struct arena *arena = arena_new();
    struct signer signer = signing_begin(arena, "secp384r1", 0);
    struct signer other = signing_begin(arena, "secp384r1", 0);
    struct signature_claim claim;

    fill_content();
    claim = claim_of(arena, &signer, "ECC_SECP384R1", "SHA-256");
    claim.certificate = other.pem;
    claim.certificate_size = strlen(other.pem);
    assert_outcome(&claim, false);
    claim.text = "bm8gc2lnbmF0dXJl";
    assert_outcome(&claim, false);
    signing_end(&signer);
    signing_end(&other);
}
END_TEST

/* As the image service, which accepts the image: that refuses others at the upload. */
START_TEST(the_salt_has_the_largest_length) {
    static const int salts[] = { RSA_PSS_SALTLEN_DIGEST, 0 };
    autoarena struct arena *arena = arena_new();
    struct signer signer = signing_begin(arena, "RSA", 2048);
    struct signature_claim claim;

    fill_content();
    claim = claim_of(arena, &signer, "RSA-PSS", "SHA-256");
    for (size_t i = 0; i < LENGTH(salts); i++) {
        claim.text = signing_sign_with(arena, &signer, "SHA-256", salts[i], content, BYTES);
        assert_outcome(&claim, false);
    }
    signing_end(&signer);
}
END_TEST

START_TEST(a_certificate_may_have_any_form) {
    autoarena struct arena *arena = arena_new();
    struct signer signer = signing_begin(arena, "secp384r1", 0);
    struct signature_claim claim;
    size_t size = strlen(signer.pem);

    fill_content();
    claim = claim_of(arena, &signer, "ECC_SECP384R1", "SHA-512");
    claim.certificate = arena_join(arena, "text before it\n", signer.pem, NULL);
    claim.certificate_size = size + 15;
    assert_outcome(&claim, true);
    claim.certificate = signer.der;
    claim.certificate_size = signer.der_size;
    assert_outcome(&claim, true);
    claim.certificate = base64_text(arena, signer.der, signer.der_size);
    claim.certificate_size = strlen(claim.certificate);
    assert_outcome(&claim, true);
    claim.certificate = base64_text(arena, signer.pem, size);
    claim.certificate_size = strlen(claim.certificate);
    assert_outcome(&claim, true);
    claim.text = arena_join(arena, claim.text, "\n", NULL);
    assert_outcome(&claim, true);
    signing_end(&signer);
}
END_TEST

/* ---- claims that no bytes can fulfil ---- */

static void assert_refused(const struct signature_claim *claim, const char *why) {
    struct error err = { .kind = ERROR_NONE };

    ck_assert_msg(!signature_new(claim, &err), "%s", why);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_msg(strstr(err.message, why), "%s instead of %s", err.message, why);
}

START_TEST(an_unknown_claim_is_refused) {
    autoarena struct arena *arena = arena_new();
    struct signer signer = signing_begin(arena, "secp384r1", 0);
    struct signature_claim right, claim;

    right = claim = claim_of(arena, &signer, "ECC_SECP384R1", "SHA-256");
    claim.key_type = "ECC_SECP256R1";
    assert_refused(&claim, "Unknown signature");
    claim.key_type = NULL;
    assert_refused(&claim, "Unknown signature");
    claim = right;
    claim.hash_method = "MD5";
    assert_refused(&claim, "Unknown signature");
    claim.hash_method = NULL;
    assert_refused(&claim, "Unknown signature");
    claim = right;
    claim.text = "not base64!";
    assert_refused(&claim, "not base64");
    claim.text = " ";
    assert_refused(&claim, "not base64");
    claim.text = NULL;
    assert_refused(&claim, "not base64");
    claim.text = memset(arena_alloc(arena, 20001), 'A', 20000);
    assert_refused(&claim, "not base64");
    signing_end(&signer);
}
END_TEST

START_TEST(a_key_of_another_type_is_refused) {
    static const struct {
        const char *algorithm;
        unsigned bits;
        const char *type, *why;
    } rows[] = {
        { "RSA", 1024, "DSA", "type DSA" },
        { "RSA", 1024, "ECC_SECP384R1", "type ECC_SECP384R1" },
        { "secp384r1", 0, "RSA-PSS", "type RSA-PSS" },
        { "secp384r1", 0, "ECC_SECP521R1", "type ECC_SECP521R1" },
        { "prime256v1", 0, "ECC_SECP384R1", "type ECC_SECP384R1" },
        { "ED25519", 0, "DSA", "type DSA" },
        { "RSA", 1016, "RSA-PSS", "1016 bits" },
        { "RSA", 512, "RSA-PSS", "512 bits" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoarena struct arena *arena = arena_new();
        struct signer signer = signing_begin(arena, rows[i].algorithm, rows[i].bits);
        const struct signature_claim claim = { rows[i].type, "SHA-256", "c2ln", signer.der,
                                               signer.der_size };

        assert_refused(&claim, rows[i].why);
        signing_end(&signer);
    }
}
END_TEST

struct number {
    const char *name;
    unsigned bits;
};

/* A public key of odd numbers, no primes: nothing is verified with it. */
static EVP_PKEY *odd_key(const char *algorithm, const struct number *numbers, size_t count) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, algorithm, NULL);
    BIGNUM *values[4] = { NULL };
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters;

    for (size_t i = 0; i < count; i++) {
        values[i] = BN_new();
        ck_assert_int_eq(BN_rand(values[i], (int)numbers[i].bits, 0, 1), 1);
        ck_assert_int_eq(OSSL_PARAM_BLD_push_BN(builder, numbers[i].name, values[i]), 1);
    }
    parameters = OSSL_PARAM_BLD_to_param(builder);
    ck_assert_int_eq(EVP_PKEY_fromdata_init(context), 1);
    ck_assert_int_eq(EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters), 1);
    for (size_t i = 0; i < count; i++)
        BN_free(values[i]);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    return key;
}

static EVP_PKEY *rsa_key(unsigned bits, unsigned exponent) {
    const struct number numbers[] = { { "n", bits }, { "e", exponent } };

    return odd_key("RSA", numbers, LENGTH(numbers));
}

static EVP_PKEY *dsa_key(unsigned bits, unsigned subgroup) {
    const struct number numbers[] = {
        { "p", bits }, { "q", subgroup }, { "g", bits - 1 }, { "pub", bits - 1 }
    };

    return odd_key("DSA", numbers, LENGTH(numbers));
}

/* libcrypto would refuse them when all bytes are there. */
START_TEST(keys_of_unusable_sizes_are_refused) {
    static const struct {
        const char *type;
        unsigned bits, part; /* of the exponent, or the subgroup */
        const char *why;     /* NULL: accepted */
    } rows[] = {
        { "RSA-PSS", 1024, 2, NULL },
        { "RSA-PSS", 3072, 3071, NULL },
        { "RSA-PSS", 3072, 3072, "an exponent of 3072 bits" },
        { "RSA-PSS", 3073, 64, NULL },
        { "RSA-PSS", 3073, 65, "an exponent of 65 bits" },
        { "RSA-PSS", 16384, 17, NULL },
        { "RSA-PSS", 16385, 17, "16385 bits; 1024 to 16384" },
        { "DSA", 1024, 160, NULL },
        { "DSA", 2048, 224, NULL },
        { "DSA", 10000, 256, NULL },
        { "DSA", 10001, 256, "10001 bits; 1024 to 10000" },
        { "DSA", 2048, 159, "a subgroup of 159 bits" },
        { "DSA", 2048, 257, "a subgroup of 257 bits" },
        { "DSA", 10000, 9000, "a subgroup of 9000 bits" },
    };
    EVP_PKEY *by = signing_key("secp384r1", 0);

    for (size_t i = 0; i < LENGTH(rows); i++) {
        bool is_rsa = strcmp(rows[i].type, "RSA-PSS") == 0;
        EVP_PKEY *key = (is_rsa ? rsa_key : dsa_key)(rows[i].bits, rows[i].part);
        X509 *certificate = signing_certificate(key, by);
        struct signature_claim claim = { rows[i].type, "SHA-256", "c2ln", NULL, 0 };
        unsigned char *der = NULL;
        struct signature *accepted;
        struct error err;

        claim.certificate_size = (size_t)i2d_X509(certificate, &der);
        claim.certificate = der;
        if (rows[i].why) {
            assert_refused(&claim, rows[i].why);
        } else {
            accepted = signature_new(&claim, &err);
            ck_assert_msg(accepted != NULL, "row %zu: %s", i, err.message);
            signature_free(accepted);
        }
        OPENSSL_free(der);
        X509_free(certificate);
        EVP_PKEY_free(key);
    }
    EVP_PKEY_free(by);
}
END_TEST

START_TEST(hostile_certificates_are_refused) {
    static const char *const texts[] = {
        "",
        "0",
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        ENCRYPTED,
        "\x30\x84\x7f\xff\xff\xff",
        "\x30\x80",
        "MIIB",
        "no certificate",
    };
    autoarena struct arena *arena = arena_new();
    struct signer signer = signing_begin(arena, "secp384r1", 0);
    struct signature_claim claim = { "ECC_SECP384R1", "SHA-256", "c2ln", NULL, 0 };
    unsigned char *bytes = arena_alloc(arena, SIGNATURE_CERTIFICATE_MOST + 1);
    struct error err;

    for (size_t i = 0; i < LENGTH(texts); i++) {
        claim.certificate = texts[i];
        claim.certificate_size = strlen(texts[i]);
        assert_refused(&claim, "X.509");
    }
    memcpy(bytes, signer.der, signer.der_size);
    claim.certificate = bytes;
    claim.certificate_size = signer.der_size + 1; /* a byte behind it */
    assert_refused(&claim, "X.509");
    memset(bytes, '\n', SIGNATURE_CERTIFICATE_MOST + 1);
    memcpy(bytes, signer.pem, strlen(signer.pem));
    claim.certificate_size = SIGNATURE_CERTIFICATE_MOST + 1;
    assert_refused(&claim, "X.509");
    for (size_t size = 0; size < signer.der_size; size++) {
        claim.certificate = signer.der;
        claim.certificate_size = size;
        assert_refused(&claim, "X.509");
    }
    for (size_t i = 0; i < signer.der_size; i++) { /* refused or not, it is read in its bounds */
        memcpy(bytes, signer.der, signer.der_size);
        bytes[i] ^= 0xff;
        claim.certificate = bytes;
        claim.certificate_size = signer.der_size;
        signature_free(signature_new(&claim, &err));
    }
    signing_end(&signer);
}
END_TEST

START_TEST(bytes_in_another_order_are_an_error) {
    autoarena struct arena *arena = arena_new();
    struct signer signer = signing_begin(arena, "secp384r1", 0);
    struct signature_claim claim = claim_of(arena, &signer, "ECC_SECP384R1", "SHA-256");
    struct error err;
    unsigned counts[2] = { 0 };
    autovolumeio struct volume_io *io =
        signature_io_open(content_io(), signature_new(&claim, &err), note, counts);
    char byte;

    ck_assert_int_eq(volume_io_read(io, &byte, 1, io->size - 1, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_uint_eq(counts[false] + counts[true], 0);
    signing_end(&signer);
}
END_TEST

CHECK_MAIN("signature_io", signatures_of_all_types_are_verified,
           a_signature_by_another_key_is_refused, the_salt_has_the_largest_length,
           a_certificate_may_have_any_form, an_unknown_claim_is_refused,
           a_key_of_another_type_is_refused, keys_of_unusable_sizes_are_refused,
           hostile_certificates_are_refused, bytes_in_another_order_are_an_error)

/*
 * Which certificates are taken back: by the lists of a file that changes, is half written, or goes.
 */
#include "http/revocations.private.h"

#include "common/arena.h"
#include "tests/lib/check_main.h"
#include "tests/lib/reasons.h"
#include "tests/lib/remote_certificates.h"

#include <ftw.h>
#include <stdint.h>
#include <unistd.h>

static char top[32];
static struct arena *arena;
static struct revocations *revocations;
static struct error err;

static const char *in_it(const char *name) {
    return arena_join(arena, top, "/", name, NULL);
}

static void begin(void) {
    begin_log("REVOCATIONS_LOG");
    arena = arena_new();
    strcpy(top, "/tmp/test-revoked-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    ck_assert(make_certificates(top));
    ck_assert(revoke_certificates(top, ""));
    ck_assert_msg(revocations_open(in_it("crl.pem"), &revocations, &err) == 0, "%s", err.message);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static void end(void) {
    revocations_free(revocations);
    arena_free(arena);
    nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool has(const char *name) {
    gnutls_datum_t text, shown;
    bool found;

    ck_assert_int_eq(gnutls_load_file(in_it(name), &text), 0);
    ck_assert_int_eq(gnutls_pem_base64_decode2("CERTIFICATE", &text, &shown), 0);
    found = revocations_have(revocations, &shown, 1);
    gnutls_free(text.data);
    gnutls_free(shown.data);
    return found;
}

static void write_file(const char *text) {
    FILE *file = fopen(in_it("crl.pem"), "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(a_revocation_applies_from_the_next_check_on) {
    ck_assert(!has("client-cert.pem"));
    ck_assert(revoke_certificates(top, "client"));
    ck_assert(has("client-cert.pem"));
    ck_assert(!has("server-cert.pem"));
    ck_assert(revoke_certificates(top, "server"));
    ck_assert(has("client-cert.pem"));
    ck_assert(has("server-cert.pem"));
}
END_TEST

START_TEST(an_unreadable_list_keeps_the_previous_one) {
    ck_assert(revoke_certificates(top, "client"));
    ck_assert(has("client-cert.pem"));
    write_file("-----BEGIN X509 CRL-----\n");
    ck_assert(has("client-cert.pem"));
    ck_assert(!has("server-cert.pem"));
    ck_assert(was_logged("revocation list not reloaded, previous one in use"));
    ck_assert_int_eq(unlink(in_it("crl.pem")), 0);
    ck_assert(has("client-cert.pem"));
    ck_assert(revoke_certificates(top, "server"));
    ck_assert(has("server-cert.pem"));
}
END_TEST

START_TEST(one_revoked_certificate_of_many_is_enough) {
    gnutls_datum_t shown[2], text;
    static const char *const names[] = { "server-cert.pem", "client-cert.pem" };

    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(gnutls_load_file(in_it(names[i]), &text), 0);
        ck_assert_int_eq(gnutls_pem_base64_decode2("CERTIFICATE", &text, &shown[i]), 0);
        gnutls_free(text.data);
    }
    ck_assert(!revocations_have(revocations, shown, 2));
    ck_assert(revoke_certificates(top, "client"));
    ck_assert(revocations_have(revocations, shown, 2));
    ck_assert(!revocations_have(revocations, shown, 1));
    shown[0].size--; /* none at all */
    ck_assert(revocations_have(revocations, shown, 1));
    for (unsigned i = 0; i < 2; i++)
        gnutls_free(shown[i].data);
}
END_TEST

START_TEST(an_invalid_list_at_the_start_is_reported) {
    static const char *const names[] = { "ca-cert.pem", "nowhere", "index.txt" };
    struct revocations *none;

    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(revocations_open(in_it(names[i]), &none, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert(strstr(err.message, names[i]));
    }
}
END_TEST

CHECK_MAIN_WITH("revocations", true, begin, end, a_revocation_applies_from_the_next_check_on,
                an_unreadable_list_keeps_the_previous_one,
                one_revoked_certificate_of_many_is_enough, an_invalid_list_at_the_start_is_reported)

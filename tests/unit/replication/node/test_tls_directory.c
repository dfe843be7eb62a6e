#include "replication/node/tls_directory.h"

#include "tests/unit/replication/node/storage_test.h"

#include <gnutls/gnutls.h>

static const char *path;
static struct tls_files files;

static void begin(void) {
    begin_storage();
    path = arena_join(arena, top, "/tls", NULL);
    files = (struct tls_files){ "/c", "/k", "/ca", NULL };
}

static const char *in_it(const char *name) {
    return arena_join(arena, path, "/", name, NULL);
}

static void assert_link(const char *name, const char *target) {
    char text[128];
    ssize_t size = readlink(in_it(name), text, sizeof(text) - 1);

    ck_assert_int_ge(size, 0);
    text[size] = '\0';
    ck_assert_str_eq(text, target);
}

START_TEST(the_directory_has_the_names_that_qemu_expects) {
    ck_assert_int_eq(tls_directory_make(path, &files, &err), 0);
    assert_link("ca-cert.pem", "/ca");
    assert_link("server-cert.pem", "/c");
    assert_link("server-key.pem", "/k");
    assert_link("client-cert.pem", "/c");
    assert_link("client-key.pem", "/k");

    /* A new certificate replaces the old one, and files of an interrupted attempt do no harm. */
    ck_assert_int_eq(unlink(in_it("client-key.pem")), 0);
    ck_assert_int_eq(truncate(in_it("dh-params.pem"), 10), 0);
    files.cert = "/c2";
    ck_assert_int_eq(tls_directory_make(path, &files, &err), 0);
    assert_link("server-cert.pem", "/c2");
    assert_link("client-key.pem", "/k");
}
END_TEST

START_TEST(revocation_lists_are_linked_while_configured) {
    const char *crl = arena_join(arena, top, "/crl", NULL);

    files.crl = crl;
    ck_assert_int_eq(tls_directory_make(path, &files, &err), 0);
    assert_link("ca-crl.pem", crl);
    ck_assert_int_eq(tls_directory_check(path, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    close(open(crl, O_WRONLY | O_CREAT, 0600));
    ck_assert_int_eq(tls_directory_check(path, &err), 0);

    files.crl = NULL;
    ck_assert_int_eq(tls_directory_make(path, &files, &err), 0);
    ck_assert_int_lt(readlink(in_it("ca-crl.pem"), (char[9]){ 0 }, 8), 0);
    ck_assert_int_eq(tls_directory_check(path, &err), 0);
}
END_TEST

/* Otherwise each server would generate a prime; one of less than 3072 bits is insufficient. */
START_TEST(no_server_generates_a_group_of_its_own) {
    gnutls_datum_t text, prime, generator;
    gnutls_dh_params_t group;
    struct stat facts;
    unsigned bits;

    ck_assert_int_eq(tls_directory_make(path, &files, &err), 0);
    ck_assert_int_eq(tls_directory_make(path, &files, &err), 0);
    ck_assert_int_eq(gnutls_load_file(in_it("dh-params.pem"), &text), 0);
    ck_assert_int_eq(gnutls_dh_params_init(&group), 0);
    ck_assert_int_eq(gnutls_dh_params_import_pkcs3(group, &text, GNUTLS_X509_FMT_PEM), 0);
    ck_assert_int_eq(gnutls_dh_params_export_raw(group, &prime, &generator, &bits), 0);
    ck_assert_uint_ge(prime.size * 8, 3072);
    ck_assert_int_eq(stat(in_it("dh-params.pem"), &facts), 0);
    ck_assert_uint_eq(facts.st_mode & 0777, 0600);
    ck_assert_int_ne(access(in_it("dh-params.pem.new"), F_OK), 0);
    gnutls_free(text.data);
    gnutls_free(prime.data);
    gnutls_free(generator.data);
    gnutls_dh_params_deinit(group);
}
END_TEST

START_TEST(a_failure_names_its_file) {
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(mkdir(in_it("dh-params.pem"), 0700), 0);
    ck_assert_int_eq(tls_directory_make(path, &files, &err), -1);
    ck_assert_msg(strstr(err.message, "dh-params.pem"), "%s", err.message);
}
END_TEST

CHECK_MAIN_WITH("tls_directory", true, begin, end_storage,
                the_directory_has_the_names_that_qemu_expects,
                revocation_lists_are_linked_while_configured,
                no_server_generates_a_group_of_its_own, a_failure_names_its_file)

#include "drivers/file/nfs.h"

#include "tests/unit/drivers/driver_test.h"

static int load(struct bench *bench, const char *const *options, struct share **shares) {
    bench_new(bench);
    bench_configure(bench, &nfs_driver, options);
    return nfs_load_shares(&bench->backend, bench->arena, shares, &bench->err);
}

START_TEST(the_only_share_comes_from_two_options) {
    autobench struct bench bench;
    struct share *shares;

    ck_assert_int_eq(load(&bench,
                          (const char *const[]){ "nas_host=[2001:db8::5]", "nas_share_path=/vol",
                                                 "nas_mount_options=-o vers=4.1",
                                                 "nfs_shares_config=/nowhere", NULL },
                          &shares),
                     1);
    ck_assert_str_eq(shares->address, "[2001:db8::5]:/vol");
    ck_assert_str_eq(shares->options, "vers=4.1");
}
END_TEST

START_TEST(options_that_make_no_share_are_refused) {
    static const char *const bad[][4] = {
        { "nas_host=srv", NULL },
        { "nas_host=srv", "nas_share_path=relative", NULL },
        { "nas_host=srv", "nas_share_path=/../etc", NULL },
        { "nas_host=-srv", "nas_share_path=/x", NULL },
        { "nas_host=srv", "nas_share_path=/x", "nas_mount_options=--bind", NULL },
        { "nfs_shares_config=/nowhere", NULL },
        { NULL },
    };
    static const char *const reasons[] = {
        "Neither nfs_shares_config nor nas_host",
        "nas_host and nas_share_path: the path of",
        "has . or .. in it",
        "is not address:/path",
        "nas_mount_options: \"--bind\" is no list",
        "reading the list of shares /nowhere",
        "Neither nfs_shares_config nor nas_host",
    };
    struct share *shares = NULL;

    for (size_t i = 0; i < LENGTH(bad); i++) {
        autobench struct bench bench;

        ck_assert_int_eq(load(&bench, bad[i], &shares), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_msg(strstr(bench.err.message, reasons[i]) != NULL, "%s", bench.err.message);
        ck_assert_ptr_null(shares);
    }
}
END_TEST

/* The options of the first mount call of a backend with these options and one share. */
static const char *mounted_with(struct bench *bench, const char *share_options,
                                const char *const *options) {
    const char *all[8] = { NULL };
    size_t count = 0;
    char *calls;

    bench_new(bench);
    bench_add_mounts(bench, "nfs4");
    bench_write(bench, "shares", arena_format(bench->arena, "srv:/a %s\n", share_options), 0600);
    all[count++] = arena_format(bench->arena, "nfs_shares_config=%s/shares", bench->path);
    all[count++] = "nfs_mount_attempts=1";
    for (size_t i = 0; options[i]; i++)
        all[count++] = options[i];
    bench_configure_shares(bench, &nfs_driver, all);
    if (bench_try_open(bench) < 0)
        return NULL;
    calls = bench_read(bench, "calls");
    *strstr(calls, " srv:/a") = '\0';
    return calls;
}
#define MOUNTED_WITH(bench, share_options, ...) \
    mounted_with(bench, share_options, (const char *const[]){ __VA_ARGS__, NULL })

START_TEST(options_of_the_backend_and_of_the_share_add_up) {
    autobench struct bench plain, both, over, none;

    ck_assert_str_eq(MOUNTED_WITH(&plain, "-o hard", "nfs_mount_options=rw,vers=4.1"),
                     "-t nfs -o rw,vers=4.1,hard");
    ck_assert_str_eq(MOUNTED_WITH(&both, "", "nfs_mount_options=soft", "nas_mount_options=rw,v3"),
                     "-t nfs -o rw,v3");
    ck_assert_str_eq(MOUNTED_WITH(&over, "hard", "nfs_mount_options=soft"),
                     "-t nfs -o vers=4,minorversion=2,soft,hard");
    ck_assert_ptr_null(MOUNTED_WITH(&none, "", "nfs_mount_options=--bind /etc"));
}
END_TEST

START_TEST(the_family_differs_where_it_should) {
    ck_assert_str_eq(nfs_driver.storage_protocol, "nfs");
    ck_assert(!(nfs_driver.properties & DRIVER_MULTIATTACH));
    ck_assert(netapp_nfs_driver.properties & DRIVER_MULTIATTACH);
    ck_assert(powerstore_nfs_driver.properties & DRIVER_MULTIATTACH);
    ck_assert_ptr_eq(netapp_nfs_driver.options, nfs_driver.options);
}
END_TEST

CHECK_MAIN("nfs", the_only_share_comes_from_two_options, options_that_make_no_share_are_refused,
           options_of_the_backend_and_of_the_share_add_up, the_family_differs_where_it_should)

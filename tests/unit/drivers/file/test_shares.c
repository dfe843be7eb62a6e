#include "drivers/file/shares.h"

#include "tests/unit/drivers/driver_test.h"

static int parse(struct arena *arena, const char *text, struct share **shares, struct error *err) {
    return shares_parse(arena, text, strlen(text), "shares", shares, err);
}

START_TEST(shares_stand_one_a_line) {
    static const char text[] = "# our filers\n"
                               "\n"
                               "filer-1.example.org:/vol/one\n"
                               "  \t# indented remark\n"
                               "192.0.2.7:/a\\040b\\134c -o rw,vers=4.1\r\n"
                               "[2001:db8::1]:/six  nconnect=4\t-o soft \n"
                               "[fe80::1%eth0]:/\n"
                               "filer_2:/trailing/";
    autoarena struct arena *arena = arena_new();
    struct share *shares;
    struct error err;

    ck_assert_msg(parse(arena, text, &shares, &err) == 5, "%s", err.message);
    ck_assert_str_eq(shares[0].address, "filer-1.example.org:/vol/one");
    ck_assert_str_eq(shares[0].options, "");
    ck_assert_str_eq(shares[1].address, "192.0.2.7:/a b\\c");
    ck_assert_str_eq(shares[1].options, "rw,vers=4.1");
    ck_assert_str_eq(shares[2].address, "[2001:db8::1]:/six");
    ck_assert_str_eq(shares[2].options, "nconnect=4,soft");
    ck_assert_str_eq(shares[3].address, "[fe80::1%eth0]:/");
    ck_assert_str_eq(shares[4].address, "filer_2:/trailing/");
    ck_assert_int_eq(parse(arena, "", &shares, &err), 0);
}
END_TEST

START_TEST(a_bad_line_is_named_with_its_number) {
    static const char *const bad[][2] = {
        { "a:/x\nb", "shares:2: \"b\" is not address:/path" },
        { ":/x", "shares:1: \":/x\" is not address:/path" },
        { "-oexec:/x", "is not address:/path" },
        { "[]:/x", "is not address:/path" },
        { "[::1:/x", "is not address:/path" },
        { "[::1%]x:/x", "is not address:/path" },
        { "user@host:/x", "is not address:/path" },
        { "a:x", "the path of \"a:x\" is not absolute" },
        { "a:../../etc", "is not absolute" },
        { "a:/../../etc", "has . or .. in it" },
        { "a:/x/..", "has . or .. in it" },
        { "a:/./x", "has . or .. in it" },
        { "a:/x\\040\x01y", "has a control character" },
        { "a:/x\x7f", "has a control character" },
        { "a:/x\xff", "is not UTF-8" },
        { "a:/x -o", "only \"-o options\" may stand" },
        { "a:/x --bind", "only \"-o options\" may stand" },
        { "a:/x -o -o", "only \"-o options\" may stand" },
        { "a:/x r\x01w", "only \"-o options\" may stand" },
        { "a:/x\nc:/x\n\na:/x rw", "shares:4: a:/x stands here a second time" },
    };
    autoarena struct arena *arena = arena_new();
    struct share *shares = NULL;
    struct error err;

    for (size_t i = 0; i < LENGTH(bad); i++) {
        ck_assert_int_eq(parse(arena, bad[i][0], &shares, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_msg(strstr(err.message, bad[i][1]) != NULL, "%s", err.message);
        ck_assert_ptr_null(shares);
    }
    ck_assert_int_eq(shares_parse(arena, "a:/x\0", 5, "shares", &shares, &err), -1);
}
END_TEST

START_TEST(too_many_shares_are_refused) {
    autoarena struct arena *arena = arena_new();
    char *text = arena_alloc(arena, 65536);
    struct share *shares;
    struct error err;
    size_t size = 0;

    memset(text, 'a', 300);
    memcpy(text, "a:/", 3);
    ck_assert_int_eq(parse(arena, text, &shares, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "longer than 255 bytes"));
    for (int i = 0; i <= SHARES_MOST; i++)
        size += (size_t)sprintf(text + size, "a:/%d\n", i);
    ck_assert_int_eq(parse(arena, text, &shares, &err), -1);
    ck_assert_str_eq(err.message, "shares:1025: more than 1024 shares");
}
END_TEST

START_TEST(a_file_is_read_whole_or_not) {
    autobench struct bench bench;
    struct share *shares;
    char *large;

    bench_new(&bench);
    bench_write(&bench, "shares", "a:/x\n", 0600);
    ck_assert_int_eq(shares_read(bench.arena, bench_path(&bench, "shares"), &shares, &bench.err),
                     1);
    ck_assert_int_eq(shares_read(bench.arena, bench_path(&bench, "none"), &shares, &bench.err), -1);
    ck_assert_int_eq(shares_read(bench.arena, bench.path, &shares, &bench.err), -1);
    large = arena_alloc(bench.arena, (1 << 20) + 1);
    memset(large, '\n', 1 << 20);
    bench_write(&bench, "shares", large, 0600);
    ck_assert_int_eq(shares_read(bench.arena, bench_path(&bench, "shares"), &shares, &bench.err),
                     -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "too large"));
}
END_TEST

CHECK_MAIN("shares", shares_stand_one_a_line, a_bad_line_is_named_with_its_number,
           too_many_shares_are_refused, a_file_is_read_whole_or_not)

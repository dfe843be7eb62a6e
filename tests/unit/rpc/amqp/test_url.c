#include "rpc/amqp/url.h"

#include "tests/lib/check_main.h"

#include <string.h>

static struct amqp_url parse(struct arena *arena, const char *text, bool ssl) {
    struct amqp_url url = { 0 };
    struct error err = { 0 };

    ck_assert_msg(amqp_url_parse(arena, text, ssl, &url, &err) == 0, "%s: %s", text, err.message);
    return url;
}

static void assert_host(const struct amqp_host *host, const char *user, const char *password,
                        const char *name, int port) {
    ck_assert_str_eq(host->user, user);
    ck_assert_str_eq(host->password, password);
    ck_assert_str_eq(host->name, name);
    ck_assert_int_eq(host->port, port);
}

START_TEST(every_part_is_read) {
    autoarena struct arena *arena = arena_new();
    struct amqp_url url =
        parse(arena, "rabbit://us%65r:p%40%2Fw@h1:5673,o:x@[fd00::1]:7,h3/v%2Fh?ssl=1", false);

    ck_assert_uint_eq(url.host_count, 3);
    assert_host(&url.hosts[0], "user", "p@/w", "h1", 5673);
    assert_host(&url.hosts[1], "o", "x", "fd00::1", 7);
    assert_host(&url.hosts[2], "guest", "guest", "h3", 5671);
    ck_assert_str_eq(url.vhost, "v/h");
    ck_assert(url.ssl);
}
END_TEST

START_TEST(missing_parts_have_their_defaults) {
    autoarena struct arena *arena = arena_new();
    struct amqp_url url = parse(arena, "kombu://h", false);

    assert_host(&url.hosts[0], "guest", "guest", "h", 5672);
    ck_assert_str_eq(url.vhost, "/");
    ck_assert(!url.ssl);
    url = parse(arena, "rabbit://user@[::1]/", true);
    assert_host(&url.hosts[0], "user", "", "::1", 5671);
    ck_assert_str_eq(url.vhost, "/");
    ck_assert(url.ssl);
    url = parse(arena, "rabbit://a:b:c@h:1/?ssl=0", true);
    assert_host(&url.hosts[0], "a", "b:c", "h", 1);
    ck_assert(!url.ssl);
}
END_TEST

START_TEST(errors_are_named_without_the_password) {
    static const char *const wrong[] = {
        "",
        "secret",
        "amqp://u:secret@h",
        "rabbitmq://u:secret@h",
        "rabbit://",
        "rabbit://u:secret@",
        "rabbit://u:secret@h,",
        "rabbit://u:secret@:5",
        "rabbit://@h",
        "rabbit://:secret@h",
        "rabbit://u:secret@h:0",
        "rabbit://u:secret@h:65536",
        "rabbit://u:secret@h:12a",
        "rabbit://u:secret",
        "rabbit://u:secret%4@h",
        "rabbit://u:secret%zz@h",
        "rabbit://u:secret%00@h",
        "rabbit://u:secret@h/a%0",
        "rabbit://u:secret@[::1]5",
        "rabbit://u:secret@[]:5",
        "rabbit://u:secret@h/v?ssl=2",
        "rabbit://u:secret@h/v?secret=1",
    };
    autoarena struct arena *arena = arena_new();

    for (unsigned i = 0; i < LENGTH(wrong); i++) {
        struct amqp_url url = { .host_count = 77 };
        struct error err = { 0 };

        ck_assert_msg(amqp_url_parse(arena, wrong[i], false, &url, &err) == -1, "%s", wrong[i]);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(strncmp(err.message, "transport_url: ", 15), 0);
        ck_assert_ptr_null(strstr(err.message, "secret"));
        ck_assert_uint_eq(url.host_count, 77);
    }
}
END_TEST

CHECK_MAIN("amqp_url", every_part_is_read, missing_parts_have_their_defaults,
           errors_are_named_without_the_password)

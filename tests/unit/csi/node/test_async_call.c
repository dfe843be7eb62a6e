/*
 * Calls into storage whose server is unresponsive.
 */
#include "common/async_call.h"

#include "csi/node/image.h"
#include "tests/unit/csi/node/shown_file.h"

START_TEST(an_unresponsive_server_is_reported_and_queried_again_once_it_responds) {
    autoimage int behind = image_make("behind", 8 * MIB);
    pid_t server = show_file("behind", "shown");

    assert_ok(async_probe(path_of("shown"), &err));
    assert_ok(async_probe(path_of("missing"), &err));
    ck_assert_int_eq(kill(server, SIGSTOP), 0);
    ck_assert_int_eq(async_probe(path_of("shown"), &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    assert_ok(async_probe(path_of("behind"), &err));
    ck_assert_int_eq(kill(server, SIGCONT), 0);
    while (async_probe(path_of("shown"), &err) < 0)
        usleep(10000);
    hide_file(server, "shown");
}
END_TEST

START_TEST(an_image_of_an_unresponsive_server_is_not_opened) {
    const char *const nowhere[] = { NULL };
    const struct node_places places = { .local_directories = nowhere,
                                        .target_directory = path_of("targets") };
    const struct node_image image = { .target = "t" };
    autoimage int behind = image_make("behind", 8 * MIB), directory = -1, file = -1;
    pid_t server;

    ck_assert_int_eq(shell("mkdir -p %s", path_of("targets/t")), 0);
    server = show_file("behind", "targets/t/volume");
    ck_assert_int_eq(kill(server, SIGSTOP), 0);
    ck_assert_int_eq(node_image_open(&places, arena, &image, false, &directory, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(kill(server, SIGCONT), 0);
    while ((file = node_image_open(&places, arena, &image, false, &directory, &err)) < 0)
        usleep(10000);
    close(file);
    file = -1;
    hide_file(server, "targets/t/volume");
}
END_TEST

NODE_MAIN("async_call", an_unresponsive_server_is_reported_and_queried_again_once_it_responds,
          an_image_of_an_unresponsive_server_is_not_opened)

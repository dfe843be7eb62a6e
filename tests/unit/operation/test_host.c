#include "operation/host.h"

#include "tests/lib/check_main.h"

START_TEST(a_backend_is_the_host_without_its_pool) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(host_backend(arena, "node@backend#pool"), "node@backend");
    ck_assert_str_eq(host_backend(arena, "node@backend#pool#more"), "node@backend");
    ck_assert_str_eq(host_backend(arena, "node@backend"), "node@backend");
    ck_assert_str_eq(host_backend(arena, "#pool"), "");
}
END_TEST

START_TEST(an_unplaced_volume_has_no_backend) {
    autoarena struct arena *arena = arena_new();

    ck_assert_ptr_null(host_backend(arena, NULL));
}
END_TEST

CHECK_MAIN("host", a_backend_is_the_host_without_its_pool, an_unplaced_volume_has_no_backend)

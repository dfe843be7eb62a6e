/*
 * Log lines of a driver: they name the request that it works for, although it has none.
 */
#include "common/log.h"
#include "tests/lib/extend.h"
#include "tests/lib/reasons.h"

#define REQUEST "req-01234567-89ab-4cde-8f01-23456789abcd"

static struct driver quiet; /* the work of the logging driver */

static enum driver_outcome talk_extend(void *handle, struct arena *arena,
                                       const struct driver_volume *volume, int64_t new_gb,
                                       struct error *err) {
    log_warning(NULL, "driver extends", NULL);
    return quiet.extend_volume(handle, arena, volume, new_gb, err);
}

static int talk_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                      struct error *err) {
    log_warning(NULL, "driver looks", NULL);
    return quiet.get_pools(handle, arena, ret, err);
}

static struct world *talking_world(void) {
    struct world *world = world_new(NULL);
    static struct driver talking;

    quiet = talking = world->filter;
    talking.extend_volume = talk_extend;
    talking.get_pools = talk_pools;
    world->backends[0].driver = &talking;
    world_restart(world);
    return world;
}

/* The log from now on. */
static void listen_again(void) {
    begin_log("WORLD_LOG");
    ck_assert_int_eq(ftruncate(reasons_fd, 0), 0);
    ck_assert_int_eq(lseek(reasons_fd, 0, SEEK_SET), 0);
}

/* Lines with these words, those of them with the others, too. */
static unsigned count_lines(const char *words, const char *others) {
    char *text = read_log(), *next = text;
    unsigned count = 0;

    for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n"))
        count += strstr(line, words) && strstr(line, others);
    free(text);
    return count;
}

static void extend_for(struct world *world, const char *id, const char *request_id) {
    autoarena struct arena *arena = arena_new();

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_sql(world, arena_format(arena, "UPDATE operations SET request_id = '%s'", request_id));
    world_settle(world);
}

START_TEST(a_drivers_line_names_the_request_that_it_works_for) {
    autoworld struct world *world = talking_world();
    const char *id = world_volume(world, 2);

    listen_again();
    extend_for(world, id, REQUEST);
    assert_volume(world, id, "available", 5);
    ck_assert_uint_eq(count_lines("driver extends", ""), 1);
    ck_assert_uint_eq(count_lines("driver extends", " request_id=" REQUEST " "), 1);
    ck_assert_uint_eq(count_lines("driver extends", " project_id=" WORLD_PROJECT " "), 1);
    ck_assert_uint_eq(count_lines("driver extends", " operation_id="), 1);
}
END_TEST

/* However the operation before it has ended. */
START_TEST(periodic_work_logs_no_request) {
    autoworld struct world *world = talking_world();
    const char *id = world_volume(world, 2);

    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    extend_for(world, id, REQUEST);
    ck_assert_str_eq(world_status(world, id), "error_extending");
    ck_assert_ptr_null(log_within(NULL));
    listen_again();
    world_advance(world, 61);
    ck_assert_uint_ge(count_lines("driver looks", ""), 1);
    ck_assert_uint_eq(count_lines("driver looks", "request_id"), 0);
    ck_assert_uint_eq(count_lines("driver looks", "operation_id"), 0);
}
END_TEST

/* At the start, and once. */
START_TEST(a_host_without_a_manager_is_logged_once) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    world_sql(world, "UPDATE services SET reported_at = 1");
    listen_again();
    world->backends[0].host_name = "other";
    world_restart(world);
    ck_assert_uint_eq(count_lines("host has no manager", "host=" WORLD_NODE "@memory "), 1);
    world_advance(world, 300);
    ck_assert_uint_eq(count_lines("host has no manager", ""), 1);
    world->backends[0].host_name = NULL;
    world_restart(world);
    world_advance(world, 100);
    ck_assert_uint_eq(count_lines("host has no manager", ""), 1);
}
END_TEST

CHECK_MAIN("log", a_drivers_line_names_the_request_that_it_works_for, periodic_work_logs_no_request,
           a_host_without_a_manager_is_logged_once)

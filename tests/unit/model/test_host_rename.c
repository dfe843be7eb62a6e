/*
 * Hosts that no manager serves any more, and their rows under another name.
 */
#include "model/host_rename.h"

#include "config/option.h"
#include "tests/lib/extend.h"
#include "tests/lib/groups.h"

#include <string.h>

#define OLD WORLD_NODE "@memory"
#define NEW "other@memory"

static int rename_body(struct work *work, void *arg, struct error *err) {
    return host_rename(work, arg, err);
}

static int try_rename(struct world *world, struct host_rename *rename, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(&world->settings, arena);

    return work_transaction(world->db, &base, rename_body, rename, err);
}

static struct host_rename renamed(struct world *world, const char *old_name, const char *new_name) {
    struct host_rename rename = { .old_name = old_name, .new_name = new_name };
    struct error err = { 0 };

    ck_assert_msg(try_rename(world, &rename, &err) == 0, "%s", err.message);
    return rename;
}

static void assert_refused(struct world *world, const char *old_name, const char *new_name,
                           enum error_kind kind) {
    struct host_rename rename = { .old_name = old_name, .new_name = new_name };
    struct error err = { 0 };

    ck_assert_int_eq(try_rename(world, &rename, &err), -1);
    ck_assert_msg(err.kind == kind, "%s -> %s: %s", old_name, new_name, err.message);
}

/* Another machine's name, and so long that the old one counts as down. */
static void move_to(struct world *world, const char *node) {
    world->backends[0].host_name = node;
    world_restart(world);
    world_advance(world, 100);
    world_settle(world);
}

START_TEST(objects_of_a_renamed_node_are_served_again) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *other = world_volume(world, 3);
    struct host_rename done;

    ck_assert_int_eq(world_action(world, id, EXTEND(4)), 202); /* the old manager never sees it */
    move_to(world, "other");
    ck_assert_str_eq(world_status(world, id), "extending");
    ck_assert_int_eq(world_check(world), 1); /* the host without a manager */

    done = renamed(world, OLD, NEW);
    ck_assert_int_eq(done.volumes, 2);
    ck_assert_int_eq(done.operations, 1);
    ck_assert_int_eq(done.pools, 1);
    world_advance(world, 100);
    world_settle(world);

    assert_volume(world, id, "available", 4);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM pools"), 1);
    ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services WHERE host = '" OLD "'"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes v JOIN services s ON "
                                        "s.id = v.service_uuid WHERE s.host = '" NEW "'"),
                     2);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(world_action(world, other, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, other, "available", 5);
}
END_TEST

START_TEST(before_its_manager_reports_the_new_name_may_be_given) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_sql(world, "UPDATE services SET reported_at = 1");
    renamed(world, OLD, NEW);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM pools WHERE host = '" NEW "' AND "
                                        "allocated_gb = 2"),
                     1);
    move_to(world, "other");
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(world_action(world, id, EXTEND(3)), 202);
    world_settle(world);
    assert_volume(world, id, "available", 3);
}
END_TEST

START_TEST(messages_of_work_that_moves_much_data_are_renamed_too) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(4)), 202);
    world_sql(world, "UPDATE operations SET is_long = 1");
    world_sql(world, "UPDATE outbox SET topic = 'cinder-volume-long." OLD "'");
    world_sql(world, "UPDATE services SET reported_at = 1");
    ck_assert_int_eq(renamed(world, OLD, NEW).messages, 1);
    ck_assert_int_eq(
        world_count(world,
                    "SELECT COUNT(*) FROM outbox WHERE topic = 'cinder-volume-long." NEW "'"),
        1);
    move_to(world, "other");
    assert_volume(world, id, "available", 4);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(names_that_only_begin_alike_stay) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    world_sql(world, "UPDATE services SET reported_at = 1");
    world_sql(world, "UPDATE volumes SET host = '" WORLD_NODE "2@memory#pool'");
    assert_refused(world, "nod", "x", ERROR_NOT_FOUND);
    ck_assert_int_eq(renamed(world, WORLD_NODE, "x").volumes, 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE host = '" WORLD_NODE
                                        "2@memory#pool'"),
                     1);
    ck_assert_int_eq(renamed(world, WORLD_NODE "2", "y").volumes, 1);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM volumes WHERE host = 'y@memory#pool'"), 1);
    world_sql(world, "DELETE FROM volumes");
    world_sql(world, "DELETE FROM quota_usages");
    world_sql(world, "UPDATE pools SET allocated_gb = 0");
}
END_TEST

static void add_service(struct world *world, const char *binary, const char *host) {
    autoarena struct arena *arena = arena_new();

    world_sql(world, arena_format(arena,
                                  "INSERT INTO services (id, binary_name, host, availability_zone, "
                                  "disabled, frozen, reported_at, created_at) "
                                  "VALUES ('%s %s', '%s', '%s', 'nova', 0, 0, 1, 1)",
                                  binary, host, binary, host));
}

static int64_t count_hosts(struct world *world, const char *table, const char *host) {
    autoarena struct arena *arena = arena_new();

    return world_count(
        world, arena_format(arena, "SELECT COUNT(*) FROM %s WHERE host = '%s'", table, host));
}

static void end_without_objects(struct world *world) {
    world_sql(world, "DELETE FROM volumes");
    world_sql(world, "DELETE FROM quota_usages");
    world_sql(world, "UPDATE pools SET allocated_gb = 0");
}

/* The option host accepts "node@x", whose backends are "node@x@memory" and so on. */
START_TEST(backends_of_a_node_with_a_longer_name_stay) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    add_service(world, "cinder-scheduler", WORLD_NODE "@x");
    add_service(world, "cinder-volume", WORLD_NODE "@x@memory");
    world_sql(world, "UPDATE services SET reported_at = 1 WHERE host NOT LIKE '%@x%'");
    world_sql(world, "UPDATE services SET reported_at = 10000000000000000 WHERE host LIKE '%@x%'");
    world_sql(world, "UPDATE volumes SET host = '" WORLD_NODE "@x@memory#pool'");
    ck_assert_int_eq(renamed(world, WORLD_NODE, "other").volumes, 0);
    ck_assert_int_eq(count_hosts(world, "volumes", WORLD_NODE "@x@memory#pool"), 1);
    ck_assert_int_eq(count_hosts(world, "services", WORLD_NODE "@x@memory"), 1);
    ck_assert_int_eq(count_hosts(world, "services", WORLD_NODE "@x"), 1);
    ck_assert_int_eq(count_hosts(world, "services", NEW), 1);
    ck_assert_int_eq(count_hosts(world, "services", "other"), 1);
    world_sql(world, "UPDATE services SET reported_at = 1");
    ck_assert_int_eq(renamed(world, WORLD_NODE "@x", "third").volumes, 1);
    ck_assert_int_eq(count_hosts(world, "volumes", "third@memory#pool"), 1);
    ck_assert_int_eq(count_hosts(world, "services", "third"), 1);
    end_without_objects(world);
}
END_TEST

/* A backend of that name is none of the node. */
START_TEST(a_node_with_the_name_of_a_backend_stays) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    add_service(world, "cinder-scheduler", OLD);
    world_sql(world, "UPDATE services SET reported_at = 1");
    ck_assert_int_eq(renamed(world, OLD, NEW).services, 1);
    ck_assert_int_eq(count_hosts(world, "services", OLD), 1);
    ck_assert_int_eq(count_hosts(world, "services", NEW), 1);
    assert_refused(world, OLD, "third@memory", ERROR_NOT_FOUND);
    end_without_objects(world);
}
END_TEST

/* "shared" and "shared@x" are values of backend_host, or "x@memory" a section of an earlier release. */
START_TEST(a_backend_of_one_of_two_nodes_is_renamed_by_itself) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    world_sql(world, "UPDATE services SET reported_at = 1");
    world_sql(world, "UPDATE volumes SET host = 'shared@x@memory#p@q'");
    assert_refused(world, "shared", "other", ERROR_CONFLICT);
    ck_assert_int_eq(renamed(world, "shared@x@memory", "shared@memory").volumes, 1);
    ck_assert_int_eq(renamed(world, "shared", "other").volumes, 1);
    ck_assert_int_eq(count_hosts(world, "volumes", "other@memory#p@q"), 1);
    world_sql(world, "UPDATE volumes SET host = '" WORLD_NODE "@x@memory#p'"); /* a section's */
    ck_assert_int_eq(renamed(world, WORLD_NODE, "other").volumes, 1);
    end_without_objects(world);
}
END_TEST

START_TEST(a_pool_gets_another_name_at_its_backend) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    world_sql(world, "UPDATE volumes SET host = '" OLD "#before'");
    ck_assert_int_eq(renamed(world, OLD "#before", OLD "#pool").volumes, 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE host = '" OLD "#pool'"),
                     1);
    world_sql(world, "UPDATE volumes SET host = (SELECT name FROM pools)");
    assert_refused(world, OLD "#pool", NEW "#pool", ERROR_BAD_REQUEST);
}
END_TEST

START_TEST(objects_of_a_live_service_keep_their_host) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 2);
    assert_refused(world, WORLD_NODE, "other", ERROR_CONFLICT);
    assert_refused(world, OLD, NEW, ERROR_CONFLICT);
    assert_refused(world, "unknown", "other", ERROR_NOT_FOUND);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services WHERE host = '" OLD "'"), 1);
}
END_TEST

START_TEST(invalid_names_are_refused) {
    static const char *const wrong[][2] = {
        { "", "x" },    { WORLD_NODE, "" },         { WORLD_NODE, "x@y" },
        { OLD, "x" },   { WORLD_NODE, WORLD_NODE }, { WORLD_NODE, "a b" },
        { OLD, "@x" },  { WORLD_NODE, "a\n" },      { OLD, "x@" },
        { OLD, "x@#" }, { OLD "#pool", NEW "#" },   { WORLD_NODE, "x#y" },
    };
    autoworld struct world *world = world_new(NULL);

    world_sql(world, "UPDATE services SET reported_at = 1");
    for (unsigned i = 0; i < LENGTH(wrong); i++)
        assert_refused(world, wrong[i][0], wrong[i][1], ERROR_BAD_REQUEST);
    world_advance(world, 20);
}
END_TEST

#define TEN     "aaaaaaaaaa"
#define FIFTY   TEN TEN TEN TEN TEN
#define LONGEST FIFTY FIFTY FIFTY FIFTY

/* As the options host and enabled_backends accept it. */
START_TEST(a_new_name_is_one_that_the_configuration_accepts) {
    static const struct {
        const char *old_name, *new_name;
        bool accepted;
    } rows[] = {
        { WORLD_NODE, "n,x", false },  { WORLD_NODE, "n\xc3\xb6", false },
        { WORLD_NODE, "n=x", false },  { WORLD_NODE, "rack/1:a_b.[c]+d-e", true },
        { OLD, "n,x@memory", false },  { OLD, "n@a/b", false },
        { OLD, "n@a,b", false },       { OLD, "n@a.b=c", true },
        { OLD, "n@x@memory", true },   { OLD "#pool", OLD "#a/b,c", true },
        { WORLD_NODE, LONGEST, true }, { WORLD_NODE, LONGEST "a", false },
        { OLD, LONGEST "@b", true },   { OLD, LONGEST "a@b", false },
    };
    autoworld struct world *world = world_new(NULL);

    ck_assert_uint_eq(strlen(LONGEST), OPTION_HOST_MOST);
    world_sql(world, "UPDATE services SET reported_at = 1");
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        struct host_rename rename = { .old_name = rows[i].old_name,
                                      .new_name = rows[i].new_name,
                                      .dry_run = true };
        struct error err = { .kind = ERROR_NONE };

        try_rename(world, &rename, &err);
        ck_assert_msg((err.kind == ERROR_BAD_REQUEST) != rows[i].accepted, "%s -> %s: %s",
                      rows[i].old_name, rows[i].new_name, err.message);
    }
    world_advance(world, 20);
}
END_TEST

/* Without a new name the present program would not serve them. */
START_TEST(names_that_were_accepted_once_are_renamed) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    world_sql(world, "UPDATE services SET reported_at = 1");
    world_sql(world, "UPDATE volumes SET host = '@memory#pool'");
    ck_assert_int_eq(renamed(world, "@memory", "x@a").volumes, 1);
    world_sql(world, "UPDATE volumes SET host = 'x@a b#pool'");
    ck_assert_int_eq(renamed(world, "x@a b", "x@a-b").volumes, 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE host = 'x@a-b#pool'"),
                     1);
    world_sql(world, "DELETE FROM volumes");
    world_sql(world, "DELETE FROM quota_usages");
    world_sql(world, "UPDATE pools SET allocated_gb = 0");
}
END_TEST

/* As a release of before, which accepted any host, has left it. */
static void give_old_name(struct world *world, const char *name) {
    static const char *const places[][2] = {
        { "volumes", "host" }, { "services", "host" }, { "pools", "host" }, { "pools", "name" }
    };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < LENGTH(places); i++)
        world_sql(world,
                  arena_format(arena, "UPDATE %s SET %s = replace(%s, '" WORLD_NODE "', '%s')",
                               places[i][0], places[i][1], places[i][1], name));
    world_sql(world, "UPDATE services SET reported_at = 1");
}

START_TEST(a_node_with_any_characters_is_renamed) {
    static const char *const names[] = { "a#b", "#", "n@x", "n@x#y", "n#x@y z", "ö" };

    for (size_t i = 0; i < 2 * LENGTH(names); i++) {
        autoworld struct world *world = world_new(NULL);
        autoarena struct arena *arena = arena_new();
        const char *id = world_volume(world, 2), *old_name = names[i / 2];

        give_old_name(world, old_name);
        if (i % 2) /* one backend of it */
            renamed(world, arena_join(arena, old_name, "@memory", NULL), NEW);
        else
            renamed(world, old_name, "other");
        move_to(world, "other");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM pools"), 1);
        ck_assert_int_eq(world_check(world), 0);
        ck_assert_int_eq(world_action(world, id, EXTEND(3)), 202);
        world_settle(world);
        assert_volume(world, id, "available", 3);
    }
}
END_TEST

/* The old name has as many characters of a backend as one, and is none. */
START_TEST(a_backend_or_pool_does_not_become_a_node) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    world_sql(world, "UPDATE services SET reported_at = 1");
    assert_refused(world, OLD, "x", ERROR_BAD_REQUEST);
    assert_refused(world, OLD "#pool", "x", ERROR_BAD_REQUEST);
    assert_refused(world, OLD "#pool", "x@y", ERROR_BAD_REQUEST);
    assert_refused(world, WORLD_NODE, "x@y", ERROR_BAD_REQUEST);
    assert_refused(world, "a#b@memory#pool", NEW "#pool", ERROR_BAD_REQUEST);
    assert_refused(world, "a#b", "x", ERROR_NOT_FOUND);
    assert_refused(world, "a#b", "x#y", ERROR_BAD_REQUEST);
    world_advance(world, 20);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_dry_run_counts_and_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    struct host_rename rename = { .old_name = WORLD_NODE, .new_name = "x", .dry_run = true };
    struct error err = { 0 };

    world_volume(world, 2);
    world_sql(world, "UPDATE services SET reported_at = 1");
    ck_assert_int_eq(try_rename(world, &rename, &err), 0);
    ck_assert_int_eq(rename.volumes, 1);
    ck_assert_int_eq(rename.pools, 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services WHERE host = '" OLD "'"), 1);
    world_advance(world, 20);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

CHECK_MAIN("host_rename", objects_of_a_renamed_node_are_served_again,
           before_its_manager_reports_the_new_name_may_be_given,
           messages_of_work_that_moves_much_data_are_renamed_too, names_that_only_begin_alike_stay,
           backends_of_a_node_with_a_longer_name_stay, a_node_with_the_name_of_a_backend_stays,
           a_backend_of_one_of_two_nodes_is_renamed_by_itself,
           a_pool_gets_another_name_at_its_backend, objects_of_a_live_service_keep_their_host,
           invalid_names_are_refused, a_new_name_is_one_that_the_configuration_accepts,
           names_that_were_accepted_once_are_renamed, a_node_with_any_characters_is_renamed,
           a_backend_or_pool_does_not_become_a_node, a_dry_run_counts_and_changes_nothing)

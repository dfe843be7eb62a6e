#include "drivers/fault.h"

#include "common/clock.h"
#include "drivers/memory.h"
#include "tests/unit/drivers/driver_test.h"

START_TEST(rules_are_read) {
    struct fault_rule rule;
    struct error err;

    ck_assert_int_eq(fault_parse_rule("extend_volume:fail-after:0.25", &rule, &err), 0);
    ck_assert_str_eq(rule.call, "extend_volume");
    ck_assert_int_eq(rule.action, FAULT_AFTER);
    ck_assert(rule.probability == 0.25);
    ck_assert_int_eq(rule.delay_ms, 0);
    ck_assert_int_eq(fault_parse_rule("*:delay:1:50", &rule, &err), 0);
    ck_assert_int_eq(rule.action, FAULT_PASS);
    ck_assert_int_eq(rule.delay_ms, 50);
}
END_TEST

START_TEST(bad_rules_are_refused_with_the_reason) {
    static const char *const bad[][2] = {
        { "", "is not call:action:probability" },
        { "extend_volume", "is not call:action:probability" },
        { "extend_volume:fail", "is not call:action:probability" },
        { "extend_volume:fail:", "is not call:action:probability" },
        { "extend_volume:fail:1x", "is not call:action:probability" },
        { "extend_volume:fail:1:", "is not call:action:probability" },
        { "extend_volume:fail:1:2:3", "is not call:action:probability" },
        { "resize:fail:1", "no call \"resize\"" },
        { "connect:explode:1", "no action \"explode\"" },
        { "connect:fail:1.5", "outside 0 to 1" },
        { "connect:fail:-1", "outside 0 to 1" },
        { "connect:fail:nan", "outside 0 to 1" },
        { "connect:delay:1:-5", "outside 0 to 1" },
        { "connect:delay:1:3600001", "outside 0 to 1" },
    };
    struct fault_rule rule;
    struct error err;

    for (size_t i = 0; i < LENGTH(bad); i++) {
        ck_assert_int_eq(fault_parse_rule(bad[i][0], &rule, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_msg(strstr(err.message, bad[i][1]) != NULL, "%s", err.message);
    }
}
END_TEST

START_TEST(a_plan_comes_from_the_configuration) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    int64_t start;

    BENCH_OPEN(&bench, &fault_driver, "fault_driver=memory",
               "fault_plan=create_volume:crash:0, extend_volume:fail-after:1, *:delay:1:20");
    start = clock_monotonic_us();
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_int_ge(clock_monotonic_us() - start, 20000);
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_FAILED);
    ck_assert_str_eq(bench.err.message, "Injected fault after extend_volume.");
    ck_assert_int_eq(bench_size(&bench, &volume), 2 * GIB);
}
END_TEST

START_TEST(opening_is_a_call_that_has_to_be_named) {
    autobench struct bench bench;
    int64_t start = clock_monotonic_us();

    BENCH_OPEN(&bench, &fault_driver, "fault_driver=memory", "fault_plan=*:crash:1");
    bench_close(&bench);
    BENCH_OPEN(&bench, &fault_driver, "fault_driver=memory", "fault_plan=open:delay:1:20");
    ck_assert_int_ge(clock_monotonic_us() - start, 20000);
}
END_TEST

static unsigned count_failures(const char *seed) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    unsigned failures = 0;

    BENCH_OPEN(&bench, &fault_driver, "fault_driver=memory", "fault_plan=create_volume:fail:0.5",
               seed);
    for (unsigned i = 0; i < 32; i++)
        failures = failures << 1 | (bench_create(&bench, &volume) < 0);
    return failures;
}

START_TEST(a_seed_repeats_its_faults) {
    unsigned first = count_failures("fault_seed=7");

    ck_assert_uint_eq(count_failures("fault_seed=7"), first);
    ck_assert_uint_ne(count_failures("fault_seed=8"), first);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_ne(first, ~0u);
}
END_TEST

static void assert_refused(const char *const *options, const char *reason) {
    autobench struct bench bench;

    bench_new(&bench);
    bench_configure(&bench, &fault_driver, options);
    ck_assert_int_eq(bench_try_open(&bench), -1);
    ck_assert_msg(strstr(bench.err.message, reason) != NULL, "%s", bench.err.message);
    ck_assert_ptr_null(bench.handle);
}

START_TEST(a_bad_plan_stops_the_start) {
    static const char *const unknown[] = { "fault_driver=memry", NULL };
    static const char *const itself[] = { "fault_driver=fault", NULL };
    static const char *const broken[] = { "fault_driver=memory", "fault_plan=x", NULL };
    static const char *const before[] = { "fault_driver=memory", "fault_plan=open:fail:1", NULL };
    static const char *const after[] = { "fault_driver=memory", "fault_plan=open:fail-after:1",
                                         NULL };
    static const char *const behind[] = { "fault_driver=nfs", NULL };
    static const char *const many[] = {
        "fault_driver=memory",
        "fault_plan=*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,"
        "*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0,*:fail:0",
        NULL
    };

    assert_refused(unknown, "did you mean memory?");
    assert_refused(itself, "is not a driver to put a filter before");
    assert_refused(broken, "is not call:action:probability");
    assert_refused(before, "Injected fault before open.");
    assert_refused(after, "Injected fault after open.");
    assert_refused(behind, "Neither nfs_shares_config nor nas_host");
    assert_refused(many, "more than 16 rules");
}
END_TEST

static struct fault_decision always(void *arg, const char *call, const char *volume_id) {
    struct fault_decision decision = { .action = *(enum fault_action *)arg };

    (void)call, (void)volume_id;
    return decision;
}

static void ignore(void *arg, const char *name_id, int64_t bytes) {
    (void)arg, (void)name_id, (void)bytes;
}

/* Those that not every storage has; how many failed. */
static int call_optional(struct bench *bench) {
    struct driver_volume volume = A_VOLUME, copy = { .id = "copy", .name_id = "copy" };
    const struct driver_snapshot snapshot = { .id = "snapshot", .name_id = "snapshot" };
    const struct driver *driver = bench->driver;
    struct driver_created created;
    void *handle = bench->handle;
    int failed = 0;

    copy.size_gb = 1;
    failed += driver->create_snapshot(handle, bench->arena, &volume, &snapshot, NULL, &created,
                                      &bench->err) == DRIVER_FAILED;
    failed += driver->list_snapshots(handle, bench->arena, ignore, NULL, &bench->err) < 0;
    failed +=
        driver->clone_volume(handle, bench->arena, &copy, &volume, NULL, &created, &bench->err) < 0;
    failed += driver->clone_snapshot(handle, bench->arena, &copy, &snapshot, NULL, &created,
                                     &bench->err) < 0;
    failed +=
        driver->revert_volume(handle, bench->arena, &volume, &snapshot, NULL, &bench->err) < 0;
    failed += driver->delete_snapshot(handle, bench->arena, &volume, &snapshot, NULL,
                                      &bench->err) == DRIVER_FAILED;
    return failed;
}

/* Every call once; how many failed. */
static int call_all(struct bench *bench) {
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *pools = NULL;
    const struct driver *driver = bench->driver;
    json_t *info = NULL;
    int failed = driver->get_pools(bench->handle, bench->arena, &pools, &bench->err) < 0;

    if (!failed)
        json_decref(pools->capabilities);
    failed += bench_create(bench, &volume) < 0;
    failed += bench_extend(bench, &volume, 1) == DRIVER_FAILED;
    failed += bench_size(bench, &volume) < 0;
    failed += driver->connect(bench->handle, bench->arena, &volume, NULL, &info, &bench->err) < 0;
    json_decref(info);
    failed += call_optional(bench);
    failed += driver->list_volumes(bench->handle, bench->arena, ignore, NULL, &bench->err) < 0;
    failed += driver->delete_volume(bench->handle, bench->arena, &volume, &bench->err) < 0;
    return failed;
}

START_TEST(every_call_passes_fails_and_lies) {
    static const enum fault_action actions[] = { FAULT_PASS, FAULT_BEFORE, FAULT_AFTER,
                                                 FAULT_CRASH_BEFORE, FAULT_CRASH_AFTER };
    enum fault_action action = FAULT_PASS;
    autobench struct bench bench;

    bench_new(&bench);
    bench.driver = &fault_driver;
    bench.handle = fault_new(&memory_driver, memory_new("pool", 10), always, &action);
    for (size_t i = 0; i < LENGTH(actions); i++) {
        action = actions[i];
        fault_reset(bench.handle);
        ck_assert_int_eq(call_all(&bench), action == FAULT_PASS ? 0 : 13);
        ck_assert_int_eq(fault_crashed(bench.handle),
                         action == FAULT_CRASH_BEFORE || action == FAULT_CRASH_AFTER);
    }
}
END_TEST

static int finished;

static void note_finished(void *handle, const struct driver_volume *volume, int64_t size_gb,
                          bool grown) {
    (void)handle, (void)volume, (void)size_gb, (void)grown;
    finished++;
}

START_TEST(the_end_of_an_extend_is_passed_on) {
    enum fault_action action = FAULT_PASS;
    struct driver_volume volume = A_VOLUME;
    struct driver next = memory_driver, filter;
    void *handle = fault_new(&next, memory_new("pool", 10), always, &action);

    fault_describe(&next, &filter);
    ck_assert_str_eq(filter.name, "memory");
    ck_assert_uint_eq(driver_supported(&filter), driver_supported(&memory_driver));
    ck_assert_ptr_null(filter.extend_finished); /* as it is with the memory driver */
    next.extend_finished = note_finished;
    fault_describe(&next, &filter);
    filter.extend_finished(handle, &volume, 2, true);
    ck_assert_int_eq(finished, 1);
    filter.close(handle);
}
END_TEST

static int one_draft(void *handle, struct arena *arena,
                     void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                     struct error *err) {
    (void)handle, (void)arena, (void)err;
    found(arg, &(struct driver_draft){ "x", "/there/.volume-x.new" });
    return 0;
}

static void note_draft(void *arg, const struct driver_draft *draft) {
    *(const char **)arg = draft->where;
}

START_TEST(lists_of_drafts_are_passed_on) {
    enum fault_action action = FAULT_PASS;
    struct driver next = memory_driver, filter;
    void *handle = fault_new(&next, memory_new("pool", 10), always, &action);
    autoarena struct arena *arena = arena_new();
    const char *where = NULL;
    struct error err;

    fault_describe(&next, &filter);
    ck_assert_ptr_null(filter.list_drafts); /* as it is with the memory driver */
    next.list_drafts = one_draft;
    fault_describe(&next, &filter);
    ck_assert_int_eq(filter.list_drafts(handle, arena, note_draft, &where, &err), 0);
    ck_assert_pstr_eq(where, "/there/.volume-x.new");
    filter.close(handle);
}
END_TEST

START_TEST(functions_missing_in_the_driver_behind_are_refused) {
    enum fault_action action = FAULT_PASS;
    struct driver next = memory_driver, filter;
    autobench struct bench bench;

    bench_new(&bench);
    next.create_snapshot = NULL;
    next.delete_snapshot = NULL;
    next.list_snapshots = NULL;
    next.clone_volume = NULL;
    next.clone_snapshot = NULL;
    next.revert_volume = NULL;
    fault_describe(&next, &filter);
    ck_assert(!filter.create_snapshot && !filter.delete_snapshot && !filter.list_snapshots &&
              !filter.clone_volume && !filter.clone_snapshot && !filter.revert_volume);
    bench.driver = &fault_driver; /* as a configuration puts it in front */
    bench.handle = fault_new(&next, memory_new("pool", 10), always, &action);
    ck_assert_int_eq(call_optional(&bench), 6);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
}
END_TEST

CHECK_MAIN("fault", rules_are_read, bad_rules_are_refused_with_the_reason,
           a_plan_comes_from_the_configuration, opening_is_a_call_that_has_to_be_named,
           a_seed_repeats_its_faults, a_bad_plan_stops_the_start, every_call_passes_fails_and_lies,
           the_end_of_an_extend_is_passed_on, lists_of_drafts_are_passed_on,
           functions_missing_in_the_driver_behind_are_refused)

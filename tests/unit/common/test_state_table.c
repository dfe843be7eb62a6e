#include "common/state_table.h"

#include "common/log.h"
#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OPEN, CLOSED, LOCKED };
enum { PUSHED, TURNED };
enum { NOTHING, SWING };

static const char *const states[] = { "Open", "Closed", "Locked" };
static const char *const events[] = { "pushed", "key turned" };
static const char *const actions[] = { "nothing", "swing" };

static const struct state_row rows[] = {
    { OPEN, PUSHED, CLOSED, SWING, "The door is closed." },
    { CLOSED, PUSHED, OPEN, SWING, "The door is open." },
    { CLOSED, TURNED, LOCKED, NOTHING, "The door is locked." },
    { LOCKED, TURNED, CLOSED, NOTHING, "The door is closed." },
};
static atomic_uint reached[LENGTH(rows)];
static const struct state_table door =
    STATE_TABLE("door", OPEN, states, events, actions, rows, reached);

START_TEST(a_transition_with_a_row_changes_the_state) {
    unsigned state = OPEN;
    const struct state_row *row = state_table_next(&door, &state, PUSHED);

    ck_assert_ptr_eq(row, &rows[0]);
    ck_assert_uint_eq(state, CLOSED);
    ck_assert_ptr_eq(state_table_find(&door, CLOSED, TURNED), &rows[2]);
    ck_assert_uint_eq(state, CLOSED);
}
END_TEST

START_TEST(a_transition_without_a_row_aborts_in_tests) {
    unsigned state = OPEN;

    state_table_next(&door, &state, TURNED);
}
END_TEST

START_TEST(a_transition_without_a_row_is_refused_in_production) {
    unsigned state = OPEN;

    unsetenv("SCORIA_STATE_TABLES");
    ck_assert_ptr_null(state_table_next(&door, &state, TURNED));
    ck_assert_uint_eq(state, OPEN);
    ck_assert_ptr_null(state_table_next(&door, &state, 17));
    ck_assert_uint_eq(state, OPEN);
}
END_TEST

/* One that happens all the time. */
START_TEST(a_refused_transition_hides_no_other_one) {
    static char lines[4096];
    autoclose int log = memfd_create("log", MFD_CLOEXEC);
    unsigned state = OPEN;

    unsetenv("SCORIA_STATE_TABLES");
    log_open(log, LOG_ERROR, LOG_TEXT);
    for (unsigned i = 0; i < 10; i++)
        state_table_next(&door, &state, TURNED);
    state = LOCKED;
    state_table_next(&door, &state, PUSHED);
    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_int_gt(pread(log, lines, sizeof lines - 1, 0), 0);
    ck_assert_ptr_nonnull(strstr(lines, "state=Open event=\"key turned\" others=0"));
    ck_assert_ptr_nonnull(strstr(lines, "state=Locked event=pushed others=0"));
    ck_assert_ptr_null(strstr(strstr(lines, "others=0") + 1, "state=Open"));
}
END_TEST

START_TEST(rows_that_no_transition_has_taken_are_named) {
    autoarena struct arena *arena = arena_new();
    unsigned state = OPEN;

    state_table_next(&door, &state, PUSHED);
    ck_assert_str_eq(state_table_unreached(&door, arena), "door: Closed, pushed");
    state_table_next(&door, &state, PUSHED);
    state_table_next(&door, &state, PUSHED);
    state_table_next(&door, &state, TURNED);
    state_table_next(&door, &state, TURNED);
    ck_assert_ptr_null(state_table_unreached(&door, arena));
}
END_TEST

/* The door's rows, one of them another. */
static const char *fault_of(unsigned i, const struct state_row *row) {
    static struct error err;
    struct state_row changed[LENGTH(rows)];
    struct state_table table = door;

    memcpy(changed, rows, sizeof(rows));
    changed[i] = *row;
    table.rows = changed;
    return state_table_check(&table, &err) < 0 ? err.message : NULL;
}

START_TEST(a_table_that_contradicts_itself_is_found) {
    static const struct {
        unsigned at;
        struct state_row row;
        const char *fault;
    } cases[] = {
        { 0, { OPEN, PUSHED, CLOSED, SWING, "The door is closed." }, NULL },
        { 2,
          { CLOSED, PUSHED, LOCKED, NOTHING, "Locked." },
          "door: Closed, pushed: more than one row" },
        { 0, { OPEN, PUSHED, CLOSED, SWING, "" }, "door: Open, pushed: row without a sentence" },
        { 0, { OPEN, PUSHED, CLOSED, SWING, NULL }, "door: Open, pushed: row without a sentence" },
        { 0, { OPEN, PUSHED, 3, SWING, "?" }, "door: Open, pushed: number without a name" },
        { 0, { OPEN, 2, CLOSED, SWING, "?" }, "door: Open, unknown: number without a name" },
        { 2,
          { CLOSED, TURNED, OPEN, NOTHING, "Open." },
          "door: the state Locked is never reached" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *fault = fault_of(cases[i].at, &cases[i].row);

        ck_assert_msg(!fault == !cases[i].fault, "case %zu: %s", i, fault ? fault : "accepted");
        ck_assert_msg(!fault || strcmp(fault, cases[i].fault) == 0, "case %zu: %s", i, fault);
    }
}
END_TEST

START_TEST(names_without_a_row_are_found) {
    static const char *const more[] = { "pushed", "key turned", "painted" };
    struct state_table table = door;
    struct error err;

    table.events = more;
    table.event_count = LENGTH(more);
    ck_assert_int_eq(state_table_check(&table, &err), -1);
    ck_assert_str_eq(err.message, "door: the event painted has no row");
    table = door;
    table.actions = more;
    table.action_count = LENGTH(more);
    ck_assert_int_eq(state_table_check(&table, &err), -1);
    ck_assert_str_eq(err.message, "door: the action painted has no row");
    table = door;
    table.state_count = 65;
    ck_assert_int_eq(state_table_check(&table, &err), -1);
}
END_TEST

START_TEST(the_diagram_shows_every_row) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(state_table_text(&door, arena),
                     "door, from Open\n"
                     "\n"
                     "  Open\n"
                     "    pushed     -> Closed  [swing]    The door is closed.\n"
                     "\n"
                     "  Closed\n"
                     "    pushed     -> Open    [swing]    The door is open.\n"
                     "    key turned -> Locked  [nothing]  The door is locked.\n"
                     "\n"
                     "  Locked\n"
                     "    key turned -> Closed  [nothing]  The door is closed.\n");
}
END_TEST

/* The one that aborts is in a case of its own: its signal is its promise. */
static SRunner *runner_new(void) {
    Suite *suite = suite_create("state_table");
    TCase *cases = tcase_create("state_table"), *aborts = tcase_create("aborts");

    tcase_add_test(cases, a_transition_with_a_row_changes_the_state);
    tcase_add_test(cases, a_transition_without_a_row_is_refused_in_production);
    tcase_add_test(cases, a_refused_transition_hides_no_other_one);
    tcase_add_test(cases, rows_that_no_transition_has_taken_are_named);
    tcase_add_test(cases, a_table_that_contradicts_itself_is_found);
    tcase_add_test(cases, names_without_a_row_are_found);
    tcase_add_test(cases, the_diagram_shows_every_row);
    tcase_add_test_raise_signal(aborts, a_transition_without_a_row_aborts_in_tests, SIGABRT);
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, aborts);
    return srunner_create(suite);
}

int main(void) {
    SRunner *runner;
    int failed;

    setenv("SCORIA_STATE_TABLES", "strict", 1);
    log_open(-1, LOG_ERROR, LOG_TEXT);
    runner = runner_new();
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#include "common/log.h"

#include "common/utf8.h"
#include "tests/lib/check_main.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int ends[2];

static void open_log(enum log_level least, enum log_format format) {
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    log_open(ends[1], least, format);
}

/* The lines since the last call; "" when there are none. */
static const char *written(void) {
    static char text[1 << 17];
    ssize_t size = read(ends[0], text, sizeof(text) - 1);

    text[size > 0 ? size : 0] = '\0';
    return text;
}

/* The line without its instant, whose form is checked. */
static const char *text_line(void) {
    const char *line = written();
    unsigned number;
    int end = 0;

    ck_assert_int_eq(sscanf(line, "%4u-%2u-%2uT%2u:%2u:%2u.%6uZ %n", &number, &number, &number,
                            &number, &number, &number, &number, &end),
                     7);
    ck_assert_int_eq(end, 28);
    ck_assert_str_eq(strchr(line, '\n'), "\n");
    return line + end;
}

static json_t *json_line(void) {
    const char *line = written();
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

    ck_assert_str_eq(strchr(line, '\n'), "\n");
    ck_assert_msg(json_is_object(object), "%s", line);
    return object;
}

static void assert_json(const json_t *object, const char *key, const char *value) {
    ck_assert_pstr_eq(json_string_value(json_object_get(object, key)), value);
}

static const struct log_context whole_context = { "req-1", "project-1", "operation-1" };

START_TEST(text_holds_event_fields_and_context) {
    open_log(LOG_INFO, LOG_TEXT);
    log_info(&whole_context, "extend done", "volume_id", "v1", "size_gb", LOG_INT(-8), NULL);
    ck_assert_str_eq(text_line(), "INFO extend done volume_id=v1 size_gb=-8 request_id=req-1 "
                                  "project_id=project-1 operation_id=operation-1\n");
}
END_TEST

START_TEST(json_holds_event_fields_and_context) {
    json_t *line;

    open_log(LOG_INFO, LOG_JSON);
    log_warning(&whole_context, "extend late", "volume_id", "v1", "reason", NULL, NULL);
    line = json_line();
    assert_json(line, "level", "WARNING");
    assert_json(line, "event", "extend late");
    assert_json(line, "volume_id", "v1");
    assert_json(line, "reason", "-");
    assert_json(line, "request_id", "req-1");
    assert_json(line, "project_id", "project-1");
    assert_json(line, "operation_id", "operation-1");
    ck_assert_uint_eq(json_string_length(json_object_get(line, "time")), 27);
    ck_assert_uint_eq(json_object_size(line), 8);
    json_decref(line);
}
END_TEST

START_TEST(missing_fields_of_the_context_are_omitted) {
    const struct log_context empty = { 0 };

    open_log(LOG_DEBUG, LOG_TEXT);
    log_debug(NULL, "started", NULL);
    ck_assert_str_eq(text_line(), "DEBUG started\n");
    log_error(&empty, "failed", "why", NULL, NULL);
    ck_assert_str_eq(text_line(), "ERROR failed why=-\n");
}
END_TEST

START_TEST(a_line_without_a_context_has_that_of_its_threads_work) {
    const struct log_context other = { .request_id = "req-2" };
    const struct log_context *before;

    open_log(LOG_INFO, LOG_TEXT);
    before = log_within(&other);
    ck_assert_ptr_null(before);
    log_info(NULL, "driver", NULL);
    ck_assert_str_eq(text_line(), "INFO driver request_id=req-2\n");
    log_info(&whole_context, "named", NULL);
    ck_assert_str_eq(text_line(), "INFO named request_id=req-1 project_id=project-1 "
                                  "operation_id=operation-1\n");
    ck_assert_ptr_eq(log_within(before), &other);
    log_info(NULL, "driver", NULL);
    ck_assert_str_eq(text_line(), "INFO driver\n");
}
END_TEST

static void *log_elsewhere(void *arg) {
    log_info(NULL, "look", NULL);
    return arg;
}

START_TEST(the_work_of_one_thread_is_not_that_of_another) {
    pthread_t thread;

    open_log(LOG_INFO, LOG_TEXT);
    log_within(&whole_context);
    ck_assert_int_eq(pthread_create(&thread, NULL, log_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    log_within(NULL);
    ck_assert_str_eq(text_line(), "INFO look\n");
}
END_TEST

START_TEST(events_below_the_level_and_a_closed_log_write_nothing) {
    open_log(LOG_WARNING, LOG_TEXT);
    log_debug(NULL, "x", NULL);
    log_info(NULL, "x", NULL);
    ck_assert_str_eq(written(), "");
    log_warning(NULL, "x", NULL);
    ck_assert_str_eq(text_line(), "WARNING x\n");
    log_open(-1, LOG_DEBUG, LOG_TEXT);
    log_error(NULL, "x", NULL);
    ck_assert_str_eq(written(), "");
}
END_TEST

static const char *count(unsigned *evaluated) {
    ++*evaluated;
    return "x";
}

START_TEST(fields_of_an_event_below_every_level_are_not_evaluated) {
    unsigned evaluated = 0;

    open_log(LOG_WARNING, LOG_TEXT);
    log_info(NULL, "x", "field", count(&evaluated), NULL);
    ck_assert_uint_eq(evaluated, 0);
    log_warning(NULL, "x", "field", count(&evaluated), NULL);
    ck_assert_uint_eq(evaluated, 1);
    ck_assert_str_eq(text_line(), "WARNING x field=x\n");
    log_set_level(1, LOG_INFO);
    log_info(NULL, "x", "field", count(&evaluated), NULL);
    ck_assert_uint_eq(evaluated, 2);
    ck_assert_str_eq(written(), "");
}
END_TEST

START_TEST(each_folder_has_a_level_of_its_own) {
    unsigned manager = 0;

    open_log(LOG_WARNING, LOG_TEXT);
    for (unsigned i = 1; i < log_loggers(); i++) {
        ck_assert_int_eq(log_level_of(i), LOG_WARNING);
        ck_assert_int_lt(strcmp(log_logger(i - 1), log_logger(i)), 0);
        if (strcmp(log_logger(i), "scoria.manager") == 0)
            manager = i;
    }
    ck_assert_uint_ne(manager, 0);
    log_set_level(manager, LOG_DEBUG);
    log_event_of("manager/engine/nova.c", LOG_DEBUG, NULL, "x", NULL);
    ck_assert_str_eq(text_line(), "DEBUG x\n");
    log_event_of("manager/nova.c", LOG_DEBUG, NULL, "x", NULL);
    ck_assert_str_eq(text_line(), "DEBUG x\n");
    log_event_of("model/volume/extend.c", LOG_INFO, NULL, "x", NULL);
    log_event_of("man/nova.c", LOG_INFO, NULL, "x", NULL);
    log_event_of("managers/nova.c", LOG_INFO, NULL, "x", NULL);
    log_event_of("nova.c", LOG_INFO, NULL, "x", NULL);
    ck_assert_str_eq(written(), "");
    log_set_level(0, LOG_INFO); /* all that have none of their own */
    log_event_of("nova.c", LOG_INFO, NULL, "x", NULL);
    ck_assert_str_eq(text_line(), "INFO x\n");
    log_event_of("tests/manager/nova.c", LOG_INFO, NULL, "x", NULL);
    ck_assert_str_eq(text_line(), "INFO x\n");
    ck_assert_str_eq(__FILE__, "tests/unit/common/test_log.c"); /* as the build names files */
    log_set_level(manager, LOG_ERROR);
    log_event_of("manager/nova.c", LOG_WARNING, NULL, "x", NULL);
    ck_assert_str_eq(written(), "");
}
END_TEST

START_TEST(a_logger_keeps_its_name_when_its_folder_moves) {
    static const struct {
        const char *name, *file;
    } rows[] = {
        { "scoria.ledger", "operation/operation.c" },
        { "scoria.provision", "declared/controller.c" },
        { "scoria.api", "rest/router.c" },
        { "scoria.volume", "model/volume/create.c" },
        { "scoria.engine", "replication/engine/target_watch.c" },
        { "scoria.storage", "replication/node/pools.c" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        open_log(LOG_WARNING, LOG_TEXT);
        for (unsigned k = 0; k < log_loggers(); k++)
            if (strcmp(log_logger(k), rows[i].name) == 0)
                log_set_level(k, LOG_INFO);
        log_event_of(rows[i].file, LOG_INFO, NULL, "x", NULL);
        ck_assert_str_eq(text_line(), "INFO x\n");
    }
}
END_TEST

START_TEST(levels_are_read_in_any_case) {
    enum log_level level = LOG_ERROR;

    ck_assert(log_level_parse("debug", &level));
    ck_assert_int_eq(level, LOG_DEBUG);
    ck_assert(log_level_parse("Warning", &level));
    ck_assert_str_eq(log_level_name(level), "WARNING");
    ck_assert(!log_level_parse("loud", &level));
    ck_assert(!log_level_parse("", &level));
    ck_assert_int_eq(level, LOG_WARNING);
}
END_TEST

START_TEST(values_cannot_forge_fields_or_lines) {
    static const struct {
        const char *value, *shown;
    } rows[] = {
        { "plain", "plain" },
        { "", "\"\"" },
        { "two words", "\"two words\"" },
        { "a=b", "\"a=b\"" },
        { "say \"x\"", "\"say \\\"x\\\"\"" },
        { "back\\slash", "\"back\\\\slash\"" },
        { "x\n2026 ERROR forged", "\"x\\n2026 ERROR forged\"" },
        { "\x1b[2J\r\t\x7f", "\"\\u001b[2J\\u000d\\u0009\\u007f\"" },
        { "\xc2\x9b"
          "2J",
          "\"\\u009b2J\"" },
        { "\xe2\x80\xa8", "\"\\u2028\"" },
        { "volume-\xe2\x80\xae"
          "1",
          "\"volume-\\u202e1\"" },
        { "na\xc3\xafve \xf0\x9f\x98\x80", "\"na\xc3\xafve \xf0\x9f\x98\x80\"" },
        { "\xff\xc3", "\"\\xff\\xc3\"" },
    };
    char expected[128];

    open_log(LOG_INFO, LOG_TEXT);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        snprintf(expected, sizeof(expected), "INFO e v=%s\n", rows[i].shown);
        log_info(NULL, "e", "v", rows[i].value, NULL);
        ck_assert_str_eq(text_line(), expected);
    }
    log_info(NULL, "two\nlines", NULL);
    ck_assert_str_eq(text_line(), "INFO two\\nlines\n");
}
END_TEST

START_TEST(json_lines_stay_json_whatever_the_value) {
    static const struct {
        const char *value, *read;
    } rows[] = {
        { "say \"x\"\\ \x01\x1f\n", "say \"x\"\\ \x01\x1f\n" },
        { "x\",\"level\":\"ERROR", "x\",\"level\":\"ERROR" },
        { "na\xc3\xafve\xc2\x9b", "na\xc3\xafve\xc2\x9b" },
        { "\xff", "\\xff" },
    };

    open_log(LOG_INFO, LOG_JSON);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        json_t *line;

        log_info(NULL, "e", "v", rows[i].value, NULL);
        line = json_line();
        assert_json(line, "v", rows[i].read);
        assert_json(line, "level", "INFO");
        json_decref(line);
    }
}
END_TEST

static char *filled(char *text, size_t size, const char *with) {
    size_t width = strlen(with), i = 0;

    for (; i + width < size; i += width)
        memcpy(text + i, with, width);
    text[i] = '\0';
    return text;
}

START_TEST(long_text_lines_are_cut_and_keep_the_context) {
    char value[20000];

    open_log(LOG_INFO, LOG_TEXT);
    log_info(&whole_context, "e", "long", filled(value, sizeof(value), "x"), "lost", "y", NULL);
    text_line();
    log_info(&whole_context, "e", "long", filled(value, sizeof(value), "\xe2\x82\xac"), "lost", "y",
             NULL);
    {
        const char *line = text_line();
        size_t size = strlen(line);

        ck_assert_uint_le(size + 28, PIPE_BUF);
        ck_assert_uint_gt(size, PIPE_BUF - 700);
        ck_assert(utf8_valid(line, size));
        ck_assert_ptr_null(strstr(line, "lost"));
        ck_assert_ptr_nonnull(strstr(line, "\xe2\x82\xac\" request_id=req-1 project_id=project-1 "
                                           "operation_id=operation-1 cut=true\n"));
    }
}
END_TEST

/* Every length around the limits, so that no closing quote or mark is missed by one. */
START_TEST(json_lines_of_every_length_are_json) {
    static const char *const fillings[] = { "x", "\xc3\xa4", "\"", "\x01", "\xff" };
    char value[5000], project[1000];
    const struct log_context context = { "req-1", filled(project, sizeof(project), "p"), "op-1" };

    open_log(LOG_INFO, LOG_JSON);
    for (size_t f = 0; f < LENGTH(fillings); f++) {
        for (size_t size = 300 + WALK_FIRST; size < sizeof(value); size += WALK_STEP) {
            const char *text;
            json_t *line;

            log_info(size % 2 ? &context : &whole_context, "e", "long",
                     filled(value, size, fillings[f]), "next", "y", NULL);
            text = written();
            ck_assert_uint_le(strlen(text), PIPE_BUF);
            line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
            ck_assert_msg(line != NULL, "%s", text);
            assert_json(line, "request_id", "req-1");
            ck_assert(json_object_get(line, "cut") || json_object_get(line, "next"));
            json_decref(line);
        }
    }
}
END_TEST

START_TEST(an_endless_event_is_cut_too) {
    char event[9000];
    json_t *line;

    open_log(LOG_INFO, LOG_JSON);
    log_info(&whole_context, filled(event, sizeof(event), "e "), "v", "x", NULL);
    line = json_line();
    assert_json(line, "v", NULL);
    assert_json(line, "request_id", "req-1");
    ck_assert(json_is_true(json_object_get(line, "cut")));
    json_decref(line);
}
END_TEST

START_TEST(errno_survives_also_a_log_that_fails) {
    log_open(open("/dev/full", O_WRONLY | O_CLOEXEC), LOG_INFO, LOG_TEXT);
    errno = ENOENT;
    log_info(NULL, "x", NULL);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* Each write of a file ends at the limit, as on a file system without space.  The library of the
 * tests has a file, too: no assertion stands below a limit. */
static void limit_files(rlim_t size) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ size, RLIM_INFINITY });
}

START_TEST(lost_lines_are_counted_and_reported_before_the_next_one) {
    static const char *const expected[][2] = {
        { "WARNING log lines lost lines=2 reason=\"File too large\"\n",
          "\"event\":\"log lines lost\",\"lines\":\"2\",\"reason\":\"File too large\"}\n" },
        { "INFO after\n", "\"event\":\"after\"}\n" },
    };

    for (int json = 0; json <= 1; json++) {
        const int fd = memfd_create("log", MFD_CLOEXEC);
        char text[1000] = "", *rest = text;

        log_open(fd, LOG_INFO, json ? LOG_JSON : LOG_TEXT);
        signal(SIGXFSZ, SIG_IGN);
        limit_files(json ? 160 : 110);
        log_info(NULL, "before", NULL);
        log_info(NULL, "in part, as the limit is within this line", NULL);
        log_info(NULL, "not written", NULL);
        limit_files(RLIM_INFINITY);
        log_info(NULL, "after", NULL);
        log_info(NULL, "last", NULL);
        ck_assert_int_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
        ck_assert_ptr_nonnull(strstr(strsep(&rest, "\n"), "before"));
        ck_assert_ptr_nonnull(strstr(strsep(&rest, "\n"), "in part"));
        for (size_t i = 0; i < LENGTH(expected); i++) {
            char *line = strsep(&rest, "\n");

            line[strlen(line)] = '\n'; /* as it was */
            ck_assert_ptr_nonnull(strstr(line, expected[i][json]));
        }
        ck_assert_uint_eq(strcspn(rest, "\n") + 1, strlen(rest)); /* one line, the last one */
        ck_assert_ptr_nonnull(strstr(rest, "last"));
    }
}
END_TEST

START_TEST(numbers_of_one_call_stand_beside_each_other) {
    open_log(LOG_INFO, LOG_TEXT);
    log_info(NULL, "e", "a", LOG_INT(INT64_MIN), "b", LOG_INT(INT64_MAX), "c", LOG_INT(0), NULL);
    ck_assert_str_eq(text_line(), "INFO e a=-9223372036854775808 b=9223372036854775807 c=0\n");
}
END_TEST

#define LINES 100

static void *write_lines(void *arg) {
    for (int i = 0; i < LINES; i++)
        log_info(NULL, "line", "text", arg, "i", LOG_INT(i), NULL);
    return NULL;
}

START_TEST(threads_never_mix_their_lines) {
    static const char *const texts[] = { "aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbb", "c" };
    pthread_t threads[LENGTH(texts)];
    unsigned lines = 0;
    char *rest;

    open_log(LOG_INFO, LOG_TEXT);
    for (size_t i = 0; i < LENGTH(texts); i++)
        pthread_create(&threads[i], NULL, write_lines, (void *)texts[i]);
    for (size_t i = 0; i < LENGTH(texts); i++)
        pthread_join(threads[i], NULL);
    rest = (char *)written();
    for (char *line; (line = strsep(&rest, "\n")) && *line; lines++) {
        char text[32];
        int number;

        ck_assert_int_eq(sscanf(line + 28, "INFO line text=%31s i=%d", text, &number), 2);
        ck_assert_uint_eq(strspn(text, (char[]){ text[0], '\0' }), strlen(text));
    }
    ck_assert_uint_eq(lines, LINES * LENGTH(texts));
}
END_TEST

CHECK_MAIN("log", text_holds_event_fields_and_context, json_holds_event_fields_and_context,
           missing_fields_of_the_context_are_omitted,
           a_line_without_a_context_has_that_of_its_threads_work,
           the_work_of_one_thread_is_not_that_of_another, each_folder_has_a_level_of_its_own,
           a_logger_keeps_its_name_when_its_folder_moves, levels_are_read_in_any_case,
           events_below_the_level_and_a_closed_log_write_nothing,
           fields_of_an_event_below_every_level_are_not_evaluated,
           values_cannot_forge_fields_or_lines, json_lines_stay_json_whatever_the_value,
           long_text_lines_are_cut_and_keep_the_context, json_lines_of_every_length_are_json,
           an_endless_event_is_cut_too, errno_survives_also_a_log_that_fails,
           lost_lines_are_counted_and_reported_before_the_next_one,
           numbers_of_one_call_stand_beside_each_other, threads_never_mix_their_lines)

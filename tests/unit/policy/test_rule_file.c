#include "policy/rule_file.private.h"

#include "policy/check_parse.private.h"
#include "policy/rule.h"
#include "tests/lib/check_main.h"

#include <string.h>
#include <sys/stat.h>

static const char *const admin_roles[] = { "admin", NULL };
static const struct context admin = { .user_id = "a", .project_id = "p", .roles = admin_roles };
static const struct context user = { .user_id = "u", .project_id = "p" };
static const struct policy_target target = { .project_id = "p", .user_id = "u" };

static char path[64];

static void write_file(const char *text, size_t size) {
    int fd;

    strcpy(path, "/tmp/scoria-rules-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
    close(fd);
}

static struct rule_entry *read_text(struct arena *arena, const char *text) {
    struct error err = { .kind = ERROR_NONE };
    struct rule_entry *entries;

    write_file(text, strlen(text));
    ck_assert_msg(rule_file_read(arena, path, false, &entries, &err) == 0, "%s", err.message);
    unlink(path);
    return entries;
}

static void refused_bytes(const char *text, size_t size, const char *why) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct rule_entry *entries;

    write_file(text, size);
    ck_assert_msg(rule_file_read(arena, path, false, &entries, &err) < 0, "not refused: %s", text);
    unlink(path);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_msg(strncmp(err.message, path, strlen(path)) == 0 && strstr(err.message, why), "%s",
                  err.message);
}

static void refused(const char *text, const char *why) {
    refused_bytes(text, strlen(text), why);
}

static bool lets(const struct rule_entry *entry, const struct context *context) {
    const struct check_question question = { context, &target };

    return check_is_true(entry->check, &question);
}

START_TEST(yaml_and_json_are_read_in_order_with_their_lines) {
    autoarena struct arena *arena = arena_new();
    struct rule_entry *entry =
        read_text(arena, "# comment\n\"a:b\": \"role:admin\"\nc: role:member\n'd': ''\n");

    ck_assert_str_eq(entry->name, "a:b");
    ck_assert_uint_eq(entry->line, 2);
    ck_assert_str_eq(entry->file, path);
    ck_assert(lets(entry, &admin) && !lets(entry, &user));
    entry = entry->next;
    ck_assert_str_eq(entry->name, "c");
    ck_assert_uint_eq(entry->line, 3);
    ck_assert(!lets(entry, &admin));
    entry = entry->next;
    ck_assert(lets(entry, &user));
    ck_assert_ptr_null(entry->next);
    entry = read_text(arena, "{\"x\": \"@\",\n \"y\": \"!\"}");
    ck_assert_str_eq(entry->next->name, "y");
    ck_assert_uint_eq(entry->next->line, 2);
    ck_assert(lets(entry, &user) && !lets(entry->next, &admin));
}
END_TEST

START_TEST(the_old_list_form_is_any_of_all) {
    autoarena struct arena *arena = arena_new();
    struct rule_entry *entry = read_text(arena, "a: [[\"role:admin\", \"project_id:p\"], "
                                                "[\"user_id:u\"]]\n"
                                                "b: []\n"
                                                "c: [[]]\n"
                                                "d: [\"role:admin\", \"!\"]\n"
                                                "e: [[\"role:admin\", \"!\"]]\n"
                                                "f: [[], [\"role:admin\"]]\n");

    ck_assert(lets(entry, &admin) && lets(entry, &user));
    entry = entry->next;
    ck_assert(lets(entry, &user));
    entry = entry->next;
    ck_assert(!lets(entry, &admin));
    entry = entry->next;
    ck_assert(lets(entry, &admin) && !lets(entry, &user));
    entry = entry->next;
    ck_assert(!lets(entry, &admin));
    entry = entry->next;
    ck_assert(lets(entry, &admin) && !lets(entry, &user));
}
END_TEST

START_TEST(files_with_nothing_in_them_have_no_rules) {
    autoarena struct arena *arena = arena_new();

    ck_assert_ptr_null(read_text(arena, ""));
    ck_assert_ptr_null(read_text(arena, "# only a comment\n"));
    ck_assert_ptr_null(read_text(arena, "---\n"));
    ck_assert_ptr_null(read_text(arena, "{}"));
}
END_TEST

START_TEST(errors_are_named_with_file_line_and_rule) {
    refused("a: role:x\nb: \"role:y or\"\n", ":2: rule b: ");
    refused("a: \"http://x/y\"\n", ":1: rule a: checks that ask another service");
    refused("a: [[\"nothing\"]]\n", ":1: rule a: a check must be kind:match");
    refused("a:\n", ":1: rule a: nothing stands here");
    refused("a: ~\n", ":1: rule a: nothing stands here");
    refused("a: null\n", "rule a: nothing");
    refused("a: !\n", "rule a: nothing");
    refused("a: {b: c}\n", ":1: rule a: a text is expected");
    refused("a: [{b: c}]\n", "a text is expected");
    refused("a: [[[\"@\"]]]\n", "a text is expected");
    refused("? [a]\n: b\n", ":1: a text is expected");
    refused("- a\n- b\n", ":1: the file must be a mapping");
    refused("just text\n", "must be a mapping");
    refused("a: &x \"@\"\nb: *x\n", ":2: rule b: a text is expected");
    refused("a: \"@\"\n---\nb: \"@\"\n", "one document only");
    refused("a: \"unclosed\n", "");
    refused("a: [\"@\"\n", "");
    refused("a: \"@\"\n]", "");
    refused("\tx: y\n", "");
    refused("a: [[\"@\",\n\t", "");
    refused("a: \"x\\0y\"\n", "the text has a NUL");
    refused_bytes("a: \xff\xfe\n", 6, "");
    refused("%YAML 9.9\n---\na: b:c\n", "");
}
END_TEST

/* Whatever YAML can nest, repeat or multiply. */
START_TEST(size_and_depth_of_a_file_are_bounded) {
    static const struct {
        const char *before, *again, *why;
        unsigned times;
    } cases[] = {
        { "a: ", "[", "a text is expected", 100000 },
        { "a: ", "{a: ", "a text is expected", 100000 },
        { "a:\n ", "- ", "a text is expected", 100000 },
        { "", "? ", "a text is expected", 100000 },
        { "a: &a [\"@\"]\nb: [", "*a, ", "a text is expected", 100000 },
        { "a: \"", "(", "nested too deeply", 100000 },
        { "a: \"", "not ", "nested too deeply", 100000 },
        { "a: [", "\"@\", ", "too many checks", 100000 },
        { "a: \"", "@ or ", "too many checks", 100000 },
        { "a: \"", "xxxxxxxxxx", "more than 1048576 bytes", 110000 },
        { "", "#xxxxxxxxxxxxxxxxx\n", "more than 1048576 bytes", 110000 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t before = strlen(cases[i].before), again = strlen(cases[i].again);
        char *text = calloc(1, before + again * cases[i].times + 8);

        ck_assert_ptr_nonnull(text);
        memcpy(text, cases[i].before, before);
        for (unsigned j = 0; j < cases[i].times; j++)
            memcpy(text + before + again * j, cases[i].again, again);
        strcat(text, strchr(cases[i].before, '"') && *cases[i].again != '"' ? "@\"\n" : "\n");
        refused(text, cases[i].why);
        free(text);
    }
}
END_TEST

START_TEST(special_files_are_refused_immediately) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct rule_entry *entries;
    char pipe[] = "/tmp/scoria-rules-pipe-XXXXXX";
    const char *const paths[] = { "/dev/zero", "/tmp", pipe };

    ck_assert_ptr_nonnull(mkdtemp(pipe));
    ck_assert_int_eq(rmdir(pipe), 0);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        ck_assert_int_lt(rule_file_read(arena, paths[i], true, &entries, &err), 0);
        ck_assert_ptr_nonnull(strstr(err.message, "not a regular file"));
    }
    unlink(pipe);
}
END_TEST

START_TEST(a_missing_file_is_empty_only_when_it_may_be) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct rule_entry *entries;

    ck_assert_int_eq(rule_file_read(arena, "/nonexistent/policy.yaml", true, &entries, &err), 0);
    ck_assert_ptr_null(entries);
    ck_assert_int_eq(rule_file_read(arena, "/nonexistent/policy.yaml", false, &entries, &err), -1);
    ck_assert(strstr(err.message, "/nonexistent/policy.yaml: "));
    ck_assert_int_eq(rule_file_read(arena, "/tmp", true, &entries, &err), -1);
}
END_TEST

START_TEST(a_list_is_bounded_too) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct rule_entry *entries;
    char text[8000] = "a: [\"@\"";

    for (int i = 0; i < CHECK_TERMS_MOST; i++)
        strcat(text, ",\"@\"");
    strcat(text, "]\n");
    write_file(text, strlen(text));
    ck_assert_int_eq(rule_file_read(arena, path, false, &entries, &err), -1);
    unlink(path);
    ck_assert(strstr(err.message, "too many checks"));
}
END_TEST

CHECK_MAIN("rule_file", yaml_and_json_are_read_in_order_with_their_lines,
           the_old_list_form_is_any_of_all, files_with_nothing_in_them_have_no_rules,
           errors_are_named_with_file_line_and_rule, size_and_depth_of_a_file_are_bounded,
           special_files_are_refused_immediately, a_missing_file_is_empty_only_when_it_may_be,
           a_list_is_bounded_too)

#include "config/config.h"

#include "common/arena.h"
#include "tests/lib/check_main.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* clang-format off */
static const char *const formats[] = { "text", "json", NULL };

static const struct option core[] = {
    { "DEFAULT", "host", OPTION_TEXT, NULL, 0, 0, NULL, "Name of this node.", false, 0, 0, 0 },
    { "DEFAULT", "osapi_max_limit", OPTION_INT, "1000", 1, 2147483647, NULL, "Most rows of a list.", false, 0, 0, 0 },
    { "DEFAULT", "ratio", OPTION_FLOAT, "20.5", 1, 100, NULL, "Thin pools promise so many times their room.", false, 0, 0, 0 },
    { "DEFAULT", "debug", OPTION_BOOL, "false", 0, 0, NULL, "Says more.", false, 0, 0, 0 },
    { "DEFAULT", "log_format", OPTION_WORD, "text", 0, 0, formats, "Form of a line.", false, 0, 0, 0 },
    { "DEFAULT", "enabled_backends", OPTION_LIST, NULL, 0, 0, NULL, "Names of backends.", false, 0, 0, 0 },
    { "storage", "enabled_pools", OPTION_LIST, NULL, 0, 0, NULL, "Names of pools.", false, 0, 0, 0 },
    OPTIONS_END
};

static const struct option database[] = {
    { "database", "connection", OPTION_TEXT, "sqlite:///var/lib/scoria.db", 0, 0, NULL, "Where the rows are.", true, 0, 0, 0 },
    { "database", "timeout", OPTION_SECONDS, "5", 0, 0, NULL, "Waits so long for a lock.", false, 0, 0, 0 },
    { "database", "offset", OPTION_INT, "0", 0, 0, NULL, "Any number.", false, 0, 0, 0 },
    { "DEFAULT", "verbose_level", OPTION_INT, "-1", -5, INT64_MAX, NULL, NULL, false, 0, 0, 0 },
    { "database", "any", OPTION_FLOAT, NULL, 0, 0, NULL, "Any number at all.", false, 0, 0, 0 },
    OPTIONS_END
};

static const struct option driver_a[] = {
    { OPTION_BACKEND, "volume_driver", OPTION_TEXT, "file", 0, 0, NULL, "The driver.", false, 0, 0, 0 },
    { OPTION_POOL, "path", OPTION_TEXT, NULL, 0, 0, NULL, "Where its files are.", false, 0, 0, 0 },
    { OPTION_BACKEND, "shares", OPTION_LIST, "a, b", 0, 0, NULL, "Where the files are.", false, 0, 0, 0 },
    OPTIONS_END
};

static const struct option driver_b[] = {
    { OPTION_BACKEND, "volume_driver", OPTION_TEXT, "other", 0, 0, NULL, "Described twice.", false, 0, 0, 0 },
    { OPTION_BACKEND, "pool_name", OPTION_TEXT, NULL, 0, 0, NULL, ".dots and \\ and 'quotes' - and a text that is so long that it does not fit into one line of the sample", false, 0, 0, 0 },
    { "late", "key", OPTION_TEXT, "", 0, 0, NULL, "Comes late.", false, 0, 0, 0 },
    { "late", "node", OPTION_HOST, NULL, 0, 0, NULL, "A node.", false, 0, 0, 0 },
    OPTIONS_END
};
/* clang-format on */

static const struct option *const tables[] = { core, database, driver_a, driver_b, NULL };

/* A file of this text, while the descriptor is open. */
static int make_file(const char *text, size_t size) {
    int fd = memfd_create("config", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
    return fd;
}

static struct config *load(const char *text, const char *const *arguments) {
    struct config *config = NULL;
    struct error err = { 0 };
    char path[64];
    autoclose int fd = make_file(text, strlen(text));

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ck_assert_msg(config_load(tables, path, arguments, &config, &err) == 0, "%s", err.message);
    return config;
}

/* The message is "<path>" followed by `message`, or just that when it does not begin with ':'. */
static void assert_refused_bytes(const char *text, size_t size, const char *const *arguments,
                                 const char *message) {
    struct config *config = NULL;
    struct error err = { 0 };
    char path[64], wanted[600];
    autoclose int fd = make_file(text, size);

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ck_assert_int_eq(config_load(tables, path, arguments, &config, &err), -1);
    ck_assert_ptr_null(config);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    snprintf(wanted, sizeof(wanted), "%s%s", message[0] == ':' ? path : "", message);
    ck_assert_str_eq(err.message, wanted);
}

static void assert_refused(const char *text, const char *message) {
    assert_refused_bytes(text, strlen(text), NULL, message);
}

#define ARGUMENTS(...)      \
    (const char *const[]) { \
        __VA_ARGS__, NULL   \
    }

/* ---- values ---- */

START_TEST(defaults_apply_without_file_and_arguments) {
    struct config *config = NULL;
    struct error err;

    ck_assert_int_eq(config_load(tables, NULL, NULL, &config, &err), 0);
    ck_assert_ptr_null(config_text(config, "DEFAULT", "host"));
    ck_assert_int_eq(config_int(config, "DEFAULT", "osapi_max_limit"), 1000);
    ck_assert_str_eq(config_text(config, "DEFAULT", "osapi_max_limit"), "1000");
    ck_assert_double_eq(config_float(config, "DEFAULT", "ratio"), 20.5);
    ck_assert(!config_bool(config, "DEFAULT", "debug"));
    ck_assert_str_eq(config_text(config, "DEFAULT", "log_format"), "text");
    ck_assert_ptr_null(config_item(config, "DEFAULT", "enabled_backends", 0));
    ck_assert_int_eq(config_int(config, "DEFAULT", "verbose_level"), -1);
    ck_assert(!config_given(config, "DEFAULT", "debug"));
    config_free(config);
    config_free(NULL);
}
END_TEST

START_TEST(file_is_read_as_cinder_writes_it) {
    struct config *config = load("\xef\xbb\xbf# comment\n"
                                 "; comment\n"
                                 "  # indented comment\n"
                                 "\n"
                                 "[DEFAULT]\r\n"
                                 "host = node = 1 # no comment\r\n"
                                 "osapi_max_limit=7\n"
                                 "ratio : 1.5\n"
                                 "debug\t=\tYes\n"
                                 "log_format = json\n"
                                 "log_format = text\n"
                                 "[ database ]\n"
                                 "timeout = 0\n"
                                 "offset = -9\n"
                                 "any = -2.5e3\n"
                                 "connection =\n"
                                 "[late]\n"
                                 "[DEFAULT]\n"
                                 "osapi_max_limit = 8",
                                 NULL);

    ck_assert_str_eq(config_text(config, "DEFAULT", "host"), "node = 1 # no comment");
    ck_assert_int_eq(config_int(config, "DEFAULT", "osapi_max_limit"), 8);
    ck_assert_double_eq(config_float(config, "DEFAULT", "ratio"), 1.5);
    ck_assert(config_bool(config, "DEFAULT", "debug"));
    ck_assert(config_given(config, "DEFAULT", "debug"));
    ck_assert_str_eq(config_text(config, "DEFAULT", "log_format"), "text");
    ck_assert_int_eq(config_int(config, "database", "timeout"), 0);
    ck_assert_int_eq(config_int(config, "database", "offset"), -9);
    ck_assert_double_eq(config_float(config, "database", "any"), -2500);
    ck_assert_str_eq(config_text(config, "database", "connection"), "");
    config_free(config);
}
END_TEST

START_TEST(long_lines_are_whole) {
    char text[5000];
    struct config *config;

    memset(text, 'x', sizeof(text));
    memcpy(text, "[DEFAULT]\nhost=", 15);
    text[sizeof(text) - 1] = '\0';
    config = load(text, NULL);
    ck_assert_uint_eq(strlen(config_text(config, "DEFAULT", "host")), sizeof(text) - 1 - 15);
    config_free(config);
}
END_TEST

START_TEST(booleans_are_read_in_any_case) {
    static const char *const words[][2] = {
        { "false", "true" }, { "NO", "YES" }, { "Off", "On" }, { "0", "1" }
    };

    for (size_t i = 0; i < LENGTH(words); i++) {
        for (int on = 0; on < 2; on++) {
            char argument[32];
            struct config *config;

            snprintf(argument, sizeof(argument), "--debug=%s", words[i][on]);
            config = load("", ARGUMENTS(argument));
            ck_assert_int_eq(config_bool(config, "DEFAULT", "debug"), on);
            config_free(config);
        }
    }
}
END_TEST

START_TEST(lists_are_trimmed_and_empty_items_fall_out) {
    struct config *config =
        load("[DEFAULT]\nenabled_backends = a\n[a]\nshares = , x y ,,z\t,\n", NULL);

    ck_assert_str_eq(config_item(config, "a", "shares", 0), "x y");
    ck_assert_str_eq(config_item(config, "a", "shares", 1), "z");
    ck_assert_ptr_null(config_item(config, "a", "shares", 2));
    ck_assert_ptr_null(config_item(config, "a", "shares", 3));
    config_free(config);
}
END_TEST

/* ---- where it comes from ---- */

START_TEST(command_line_wins_over_environment_over_file) {
    static const char file[] = "[DEFAULT]\nhost = file\nosapi_max_limit = 1\nlog_format = json\n";
    struct config *config;

    setenv("SCORIA_HOST", "environment", 1);
    setenv("SCORIA_OSAPI_MAX_LIMIT", "2", 1);
    setenv("SCORIA_DATABASE_TIMEOUT", "3", 1);
    setenv("SCORIA_LOG_FORMAT", "", 1);           /* set to nothing: not set */
    setenv("SCORIA_SERVICE_HOST", "10.0.0.1", 1); /* not ours */
    config = load(file, ARGUMENTS("--host=argument", "--database.any=4"));
    ck_assert_str_eq(config_text(config, "DEFAULT", "host"), "argument");
    ck_assert_int_eq(config_int(config, "DEFAULT", "osapi_max_limit"), 2);
    ck_assert_int_eq(config_int(config, "database", "timeout"), 3);
    ck_assert(config_given(config, "database", "timeout"));
    ck_assert_double_eq(config_float(config, "database", "any"), 4);
    ck_assert_str_eq(config_text(config, "DEFAULT", "log_format"), "json");
    config_free(config);
}
END_TEST

START_TEST(arguments_take_hyphens_sections_and_bare_switches) {
    struct config *config =
        load("", ARGUMENTS("--osapi-max-limit=5", "--debug", "--database.offset=6",
                           "--enabled-backends=nfs-1,x.y", "--nfs_1.pool-name=p",
                           "--x.y.shares=s=1", "--DEFAULT.host="));

    ck_assert_int_eq(config_int(config, "DEFAULT", "osapi_max_limit"), 5);
    ck_assert(config_bool(config, "DEFAULT", "debug"));
    ck_assert_int_eq(config_int(config, "database", "offset"), 6);
    ck_assert_str_eq(config_text(config, "nfs-1", "pool_name"), "p");
    ck_assert_str_eq(config_item(config, "x.y", "shares", 0), "s=1");
    ck_assert_str_eq(config_text(config, "DEFAULT", "host"), "");
    config_free(config);
}
END_TEST

START_TEST(set_acts_as_the_command_line) {
    struct config *config = load("", NULL);
    struct error err = { 0 };

    ck_assert_int_eq(config_set(config, "DEFAULT", "osapi_max_limit", "9", &err), 0);
    ck_assert_int_eq(config_int(config, "DEFAULT", "osapi_max_limit"), 9);
    ck_assert_int_eq(config_set(config, "DEFAULT", "osapi_max_limit", "0", &err), -1);
    ck_assert_str_eq(err.message, "set osapi_max_limit: [DEFAULT] osapi_max_limit = 0: must be an "
                                  "integer from 1 to 2147483647");
    ck_assert_int_eq(config_int(config, "DEFAULT", "osapi_max_limit"), 9);
    ck_assert_int_eq(config_set(config, "DEFAULT", "hots", "x", &err), -1);
    config_free(config);
}
END_TEST

/* ---- backends ---- */

START_TEST(each_enabled_backend_has_a_section_with_every_drivers_keys) {
    struct config *config = load("[two]\npool_name = p2\n"
                                 "[DEFAULT]\nenabled_backends = one, two\n"
                                 "[one]\nvolume_driver = nfs\n",
                                 NULL);

    ck_assert_str_eq(config_text(config, "one", "volume_driver"), "nfs");
    ck_assert_str_eq(config_text(config, "two", "volume_driver"), "file");
    ck_assert_ptr_null(config_text(config, "one", "pool_name"));
    ck_assert_str_eq(config_text(config, "two", "pool_name"), "p2");
    ck_assert_str_eq(config_item(config, "two", "shares", 1), "b");
    config_free(config);

    setenv("SCORIA_ENABLED_BACKENDS", "ceph-1", 1);
    setenv("SCORIA_CEPH_1_POOL_NAME", "volumes", 1);
    config = load("[DEFAULT]\nenabled_backends = not_this\n", NULL);
    ck_assert_str_eq(config_text(config, "ceph-1", "pool_name"), "volumes");
    config_free(config);
}
END_TEST

START_TEST(each_enabled_pool_has_a_section_beside_the_backends) {
    struct config *config = load("[DEFAULT]\nenabled_backends = one\n"
                                 "[storage]\nenabled_pools = a, b\n[b]\npath = /srv/b\n",
                                 NULL);

    ck_assert_str_eq(config_text(config, "one", "volume_driver"), "file");
    ck_assert_ptr_null(config_text(config, "a", "path"));
    ck_assert_str_eq(config_text(config, "b", "path"), "/srv/b");
    config_free(config);
    assert_refused("[DEFAULT]\nenabled_backends = one\n[storage]\nenabled_pools = one\n",
                   "[storage] enabled_pools: one cannot be a pool's name: it is named twice, or "
                   "the name of another section");
    assert_refused("[storage]\nenabled_pools = a\n[a]\nvolume_driver = nfs\n",
                   ":4: [a] volume_driver: unknown key");
}
END_TEST

#define FORTY "0123456789012345678901234567890123456789"

/* As "a#b@file#file": each name is found again in the host of a volume. */
START_TEST(a_name_that_cannot_be_part_of_a_volumes_host_is_refused) {
    static const char *const hosts[] = { "", "a b", "a#b", "\xc3\xa9",
                                         FORTY FORTY FORTY FORTY FORTY "x" };
    static const char *const backends[] = { "a@b", "a#b", "a/b", "a b" };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < LENGTH(hosts); i++)
        assert_refused(arena_format(arena, "[late]\nnode = %s\n", hosts[i]),
                       arena_format(arena,
                                    ":2: [late] node = %s: must be a name of 1 to 200 letters, "
                                    "digits and -._@:/+[]",
                                    hosts[i]));
    for (size_t i = 0; i < LENGTH(backends); i++)
        assert_refused(arena_format(arena, "[DEFAULT]\nenabled_backends = %s\n", backends[i]),
                       arena_format(arena,
                                    "[DEFAULT] enabled_backends: \"%s\" cannot be a backend's "
                                    "name: it has \"@\", \"#\", \"/\" or a blank in it",
                                    backends[i]));
}
END_TEST

START_TEST(backend_may_not_take_the_name_of_another_section) {
    assert_refused("[DEFAULT]\nenabled_backends = database\n",
                   "[DEFAULT] enabled_backends: database cannot be a backend's name: it is named "
                   "twice, or the name of another section");
    assert_refused("[DEFAULT]\nenabled_backends = a,a\n",
                   "[DEFAULT] enabled_backends: a cannot be a backend's name: it is named twice, "
                   "or the name of another section");
}
END_TEST

START_TEST(backend_that_is_not_enabled_is_unknown) {
    assert_refused("[DEFAULT]\nenabled_backends = lvm\n[zfs]\npool_name = x\n",
                   ":3: [zfs]: unknown section; a backend's section must be named in [DEFAULT] "
                   "enabled_backends, a pool's in [storage] enabled_pools");
    assert_refused("[DEFAULT]\nenabled_backends = lvm-1\n[lvm_1]\n",
                   ":3: [lvm_1]: unknown section; did you mean [lvm-1]? (A backend's section must "
                   "be named in enabled_backends, a pool's in enabled_pools.)");
}
END_TEST

START_TEST(tables_without_backends_have_none) {
    static const struct option *const few[] = { database, NULL };
    struct config *config = NULL;
    struct error err;

    ck_assert_int_eq(config_load(few, NULL, ARGUMENTS("--database.offset=1"), &config, &err), 0);
    ck_assert_int_eq(config_int(config, "database", "offset"), 1);
    config_free(config);
}
END_TEST

/* ---- members ---- */

struct filled {
    const char *host, *format, *share_pool;
    bool debug;
    int level;
    unsigned limit;
    int64_t offset_ms;
    uint64_t bytes;
    double ratio;
    int untouched;
};

#define FILLS(member_) OPTION_FILLS(struct filled, member_)

/* clang-format off */
static const struct option filling[] = {
    { .section = "DEFAULT", .key = "host", .type = OPTION_TEXT, FILLS(host) },
    { .section = "DEFAULT", .key = "log_format", .type = OPTION_WORD, FILLS(format) },
    { .section = "DEFAULT", .key = "debug", .type = OPTION_BOOL, FILLS(debug) },
    { .section = "DEFAULT", .key = "verbose_level", .type = OPTION_INT, FILLS(level) },
    { .section = "DEFAULT", .key = "osapi_max_limit", .type = OPTION_INT, FILLS(limit) },
    { .section = "database", .key = "offset", .type = OPTION_INT, FILLS(offset_ms), .unit = 1000 },
    { .section = "database", .key = "timeout", .type = OPTION_SECONDS, FILLS(bytes), .unit = 1 << 20 },
    { .section = "DEFAULT", .key = "ratio", .type = OPTION_FLOAT, FILLS(ratio) },
    { .section = "database", .key = "any", .type = OPTION_FLOAT },
    OPTIONS_END
};

static const struct option filling_backend[] = {
    { .section = OPTION_BACKEND, .key = "pool_name", .type = OPTION_TEXT, FILLS(share_pool) },
    OPTIONS_END
};
/* clang-format on */

START_TEST(each_row_fills_its_member_alone) {
    struct config *config = load("[DEFAULT]\n"
                                 "debug = true\n"
                                 "osapi_max_limit = 2147483647\n"
                                 "enabled_backends = one, two\n"
                                 "[database]\n"
                                 "offset = -9\n"
                                 "timeout = 8192\n"
                                 "[two]\n"
                                 "pool_name = p2\n",
                                 NULL);
    struct filled filled = { .host = "unset", .untouched = 7 };

    config_fill(config, NULL, filling, &filled);
    config_fill(config, "two", filling_backend, &filled);

    ck_assert_ptr_null(filled.host);
    ck_assert_str_eq(filled.format, "text");
    ck_assert_str_eq(filled.share_pool, "p2");
    ck_assert(filled.debug);
    ck_assert_int_eq(filled.level, -1);
    ck_assert_uint_eq(filled.limit, 2147483647);
    ck_assert_int_eq(filled.offset_ms, -9000);
    ck_assert_uint_eq(filled.bytes, UINT64_C(8192) << 20);
    ck_assert_double_eq(filled.ratio, 20.5);
    ck_assert_int_eq(filled.untouched, 7);
    config_free(config);
}
END_TEST

/* ---- refusals ---- */

START_TEST(bad_value_is_refused_with_place_and_range) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "[DEFAULT]\n\nosapi_max_limit = 0\n",
          ":3: [DEFAULT] osapi_max_limit = 0: must be an integer from 1 to 2147483647" },
        { "[DEFAULT]\nosapi_max_limit = 1x",
          ":2: [DEFAULT] osapi_max_limit = 1x: must be an integer from 1 to 2147483647" },
        { "[DEFAULT]\nosapi_max_limit =",
          ":2: [DEFAULT] osapi_max_limit = : must be an integer from 1 to 2147483647" },
        { "[database]\noffset = 99999999999999999999",
          ":2: [database] offset = 99999999999999999999: must be an integer" },
        { "[database]\ntimeout = -1", ":2: [database] timeout = -1: must be a number of seconds" },
        { "[database]\nany = nan", ":2: [database] any = nan: must be a number" },
        { "[DEFAULT]\nratio = 0.5", ":2: [DEFAULT] ratio = 0.5: must be a number from 1 to 100" },
        { "[DEFAULT]\nratio = 100.1",
          ":2: [DEFAULT] ratio = 100.1: must be a number from 1 to 100" },
        { "[DEFAULT]\nverbose_level = -6",
          ":2: [DEFAULT] verbose_level = -6: must be an integer, at least -5" },
        { "[DEFAULT]\ndebug = maybe", ":2: [DEFAULT] debug = maybe: must be true or false" },
        { "[DEFAULT]\nlog_format = xml",
          ":2: [DEFAULT] log_format = xml: must be one of text, json" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
}
END_TEST

START_TEST(unknown_names_are_refused_with_the_nearest_spelling) {
    assert_refused("[databse]\n", ":1: [databse]: unknown section; did you mean [database]? (A "
                                  "backend's section must be named in enabled_backends, a "
                                  "pool's in enabled_pools.)");
    assert_refused("[database]\nconection = x\n",
                   ":2: [database] conection: unknown key; did you mean connection?");
    assert_refused("[database]\nosapi_max_limit = 3\n",
                   ":2: [database] osapi_max_limit: unknown key; it belongs to [DEFAULT]");
    assert_refused("[database]\nzzz = 3\n", ":2: [database] zzz: unknown key");
    assert_refused("[0123456789012345678901234567890123456789012345678901234567890123456789]\n",
                   ":1: [0123456789012345678901234567890123456789012345678901234567890123456789]: "
                   "unknown section; a backend's section must be named in [DEFAULT] "
                   "enabled_backends, a pool's in [storage] enabled_pools");
}
END_TEST

START_TEST(bad_syntax_is_refused_with_its_line) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "host = x\n", ":1: stands before the first [section]" },
        { "[DEFAULT]\nhost\n", ":2: neither \"key = value\" nor \"[section]\"" },
        { "[DEFAULT\n", ":1: a section is [name] and nothing else" },
        { "[DEFAULT] x\n", ":1: a section is [name] and nothing else" },
        { "[ ]\n", ":1: the section has no name" },
        { "[DEFAULT]\n = x\n", ":2: begins with a blank; a value is one line" },
        { "[DEFAULT]\n= x\n", ":2: there is no key in front of the value" },
        { "[DEFAULT]\nhost = a\n  b = c\n", ":3: begins with a blank; a value is one line" },
        { "[DEFAULT]\nhost = \xff\n", ":2: not UTF-8 text" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
    assert_refused_bytes("[DEFAULT]\nhost = a\0b\n", 21, NULL, ":2: not UTF-8 text");
}
END_TEST

START_TEST(bad_arguments_and_environment_are_refused_by_name) {
    static const struct {
        const char *argument, *message;
    } cases[] = {
        { "--osapi-max-limit=x", "command line --osapi-max-limit: [DEFAULT] osapi_max_limit = x: "
                                 "must be an integer from 1 to 2147483647" },
        { "--host", "command line --host: needs a value: --host=..." },
        { "--hosd=x", "command line --hosd: [DEFAULT] hosd: unknown key; did you mean host?" },
        { "--databas.timeout=1",
          "command line --databas.timeout: [databas] timeout: unknown key; it belongs to "
          "[database]" },
        { "--", "command line --: [DEFAULT] : unknown key" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_refused_bytes("", 0, ARGUMENTS(cases[i].argument), cases[i].message);
    setenv("SCORIA_DATABASE_TIMEOUT", "soon", 1);
    assert_refused("", "environment SCORIA_DATABASE_TIMEOUT: [database] timeout = soon: must be a "
                       "number of seconds");
}
END_TEST

START_TEST(a_secret_is_not_disclosed_in_an_error) {
    static const struct option secret[] = {
        { "s", "pin", OPTION_INT, NULL, 1, 9, NULL, NULL, true, 0, 0, 0 },
        OPTIONS_END,
    };
    static const struct option *const only[] = { secret, NULL };
    struct config *config = NULL;
    struct error err = { 0 };

    ck_assert_int_eq(config_load(only, NULL, ARGUMENTS("--s.pin=1234"), &config, &err), -1);
    ck_assert_str_eq(err.message,
                     "command line --s.pin: [s] pin = (hidden): must be an integer from 1 to 9");
}
END_TEST

START_TEST(file_that_cannot_be_read_is_named) {
    static const char *const paths[] = { "/no/such/file.conf", "/" };
    struct config *config = NULL;
    struct error err = { 0 };

    for (size_t i = 0; i < LENGTH(paths); i++) {
        ck_assert_int_eq(config_load(tables, paths[i], NULL, &config, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.message, paths[i]));
        ck_assert_int_eq(strncmp(err.message, "cannot read ", 12), 0);
    }
}
END_TEST

/* ---- printing ---- */

static char *print(void (*function)(const struct option *const *tables, FILE *out)) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    function(tables, out);
    fclose(out);
    return text;
}

START_TEST(the_sample_has_every_option_and_can_be_loaded) {
    autofree char *text = print(option_print_sample);
    struct config *config = load(text, NULL);
    static const char backends[] =
        "\n\n"
        "# Each backend that [DEFAULT] enabled_backends names has a section of that\n"
        "# name, with these keys.\n"
        "#[name]\n"
        "\n"
        "# The driver.\n"
        "# Value: text.\n"
        "#volume_driver = file\n"
        "\n"
        "# Where the files are.\n"
        "# Value: a list with commas.\n"
        "#shares = a, b\n"
        "\n"
        "# .dots and \\ and 'quotes' - and a text that is so long that it does not fit\n"
        "# into one line of the sample\n"
        "# Value: text. Unset by default.\n"
        "#pool_name =\n"
        "\n"
        "# Each pool that [storage] enabled_pools names has a section of that name,\n"
        "# with these keys.\n"
        "#[name]\n"
        "\n"
        "# Where its files are.\n"
        "# Value: text. Unset by default.\n"
        "#path =\n";

    config_free(config);
    ck_assert_int_eq(strncmp(text,
                             "[DEFAULT]\n\n# Name of this node.\n# Value: text. Unset by "
                             "default.\n#host =\n",
                             30),
                     0);
    ck_assert_ptr_nonnull(strstr(text, "\n\n[database]\n\n# Where the rows are.\n# Value: "
                                       "text.\n#connection =\n\n")); /* secret */
    ck_assert_ptr_nonnull(strstr(text, "# Value: one of text, json.\n#log_format = text\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n\n# Value: an integer, at least -5.\n"
                                       "#verbose_level = -1\n"));
    ck_assert_ptr_nonnull(strstr(text, "[late]\n\n# Comes late.\n# Value: text.\n#key =\n"));
    ck_assert_ptr_null(strstr(text, "Described twice"));
    ck_assert_str_eq(text + strlen(text) - strlen(backends), backends);
}
END_TEST

START_TEST(man_page_part_is_escaped) {
    autofree char *text = print(option_print_man);

    ck_assert_int_eq(strncmp(text, ".SS [DEFAULT]\n.TP\n\\fBhost\\fR (text)\nName of", 40), 0);
    ck_assert_ptr_nonnull(strstr(text, "\\fBosapi_max_limit\\fR (an integer from 1 to "
                                       "2147483647; default \\fB1000\\fR)\n"));
    ck_assert_ptr_nonnull(strstr(text, "\\fBconnection\\fR (text)\n"));
    ck_assert_ptr_nonnull(strstr(text, "default \\fB\\-1\\fR"));
    ck_assert_ptr_nonnull(strstr(text, "\\fBkey\\fR (text; default \\fBempty\\fR)\n"));
    ck_assert_ptr_nonnull(strstr(text, ".SS [\\fIname of a backend\\fR]\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n\\&.dots and \\e and 'quotes' \\- and"));
}
END_TEST

CHECK_MAIN("option", defaults_apply_without_file_and_arguments, file_is_read_as_cinder_writes_it,
           long_lines_are_whole, booleans_are_read_in_any_case,
           lists_are_trimmed_and_empty_items_fall_out, command_line_wins_over_environment_over_file,
           arguments_take_hyphens_sections_and_bare_switches, set_acts_as_the_command_line,
           each_enabled_backend_has_a_section_with_every_drivers_keys,
           each_enabled_pool_has_a_section_beside_the_backends,
           a_name_that_cannot_be_part_of_a_volumes_host_is_refused,
           backend_may_not_take_the_name_of_another_section, backend_that_is_not_enabled_is_unknown,
           tables_without_backends_have_none, each_row_fills_its_member_alone,
           bad_value_is_refused_with_place_and_range,
           unknown_names_are_refused_with_the_nearest_spelling, bad_syntax_is_refused_with_its_line,
           bad_arguments_and_environment_are_refused_by_name, a_secret_is_not_disclosed_in_an_error,
           file_that_cannot_be_read_is_named, the_sample_has_every_option_and_can_be_loaded,
           man_page_part_is_escaped)

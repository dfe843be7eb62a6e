#include "db/sqlite/map.h"

#include "common/cleanup.h"
#include "tests/unit/db/scratch.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char sum_of_all[] = "SELECT SUM(LENGTH(value)) FROM item";
enum { ROWS = 2000, BYTES = 300, PAGE = 4096 };

/* A database whose whole content is in its file, and not in the WAL. */
static void items_make(const struct scratch *scratch) {
    struct db *db = scratch_open(scratch->url, true);

    sql_run(db, "CREATE TABLE item (id INTEGER PRIMARY KEY, value BLOB)");
    sql_run(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
                "INSERT INTO item SELECT i, randomblob(300) FROM n");
    db_close(db);
}

static char *file_read(const char *path, size_t *size) {
    autoclose int fd = open(path, O_RDONLY);
    struct stat found;
    char *bytes;

    ck_assert_int_eq(fstat(fd, &found), 0);
    *size = (size_t)found.st_size;
    bytes = malloc(*size);
    ck_assert_int_eq(read(fd, bytes, *size), found.st_size);
    return bytes;
}

struct cut {
    int fd;
    off_t size;
};

/* SQLite looks at the size of the file when it begins, so it is cut afterwards. */
static int cut_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct cut *cut = arg;
    int64_t value;

    ck_assert_int_eq(db_query_int(tx, &value, err, "SELECT id FROM item WHERE id = 1"), 1);
    ck_assert_int_eq(ftruncate(cut->fd, cut->size), 0);
    return db_query_int(tx, &value, err, sum_of_all);
}

/* A page behind the end of a file is as unreadable as one that its disk cannot give; a half of one
 * would be read, and kept. */
START_TEST(a_page_that_cannot_be_read_fails_one_request) {
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    autofree char *bytes = NULL;
    autoclose int fd = -1;
    struct db *db;
    size_t size;

    scratch_make(&scratch);
    items_make(&scratch);
    bytes = file_read(scratch.path, &size);
    fd = open(scratch.path, O_WRONLY);
    db = scratch_open(scratch.url, true);
    ck_assert_int_eq(sql_int(db, sum_of_all), ROWS * BYTES);
    for (int turn = 0; turn < 2; turn++) {
        struct cut cut = { fd, (off_t)(size / 2 / PAGE * PAGE) };

        ck_assert_int_eq(db_read(db, cut_body, &cut, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        ck_assert_msg(strstr(err.message, "disk of the database"), "%s", err.message);

        ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
        ck_assert_int_eq(sql_int(db, sum_of_all), ROWS * BYTES);
    }
    db_close(db);
}
END_TEST

/* Where the database file is mapped; 0: nowhere. */
static uintptr_t mapped_at(const char *path) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t begin = 0;
    char line[512];

    while (!begin && fgets(line, sizeof(line), maps))
        if (strstr(line, path) && strstr(line, " r--s "))
            begin = strtoul(line, NULL, 16);
    fclose(maps);
    return begin;
}

START_TEST(a_change_keeps_the_mapping_until_the_end) {
    autoscratch struct scratch scratch;
    char line_end[64];
    struct db *db;
    uintptr_t begin;

    scratch_make(&scratch);
    items_make(&scratch);
    snprintf(line_end, sizeof(line_end), "%s\n", scratch.path);
    db = scratch_open(scratch.url, true);
    ck_assert_int_eq(sql_int(db, sum_of_all), ROWS * BYTES);
    begin = mapped_at(line_end);
    ck_assert(begin != 0);

    sql_run(db, "UPDATE item SET value = 'x' WHERE id = 1");
    ck_assert_int_eq(sql_int(db, sum_of_all), (ROWS - 1) * BYTES + 1);
    ck_assert(mapped_at(line_end) == begin);

    db_close(db);
    ck_assert(mapped_at(line_end) == 0);
}
END_TEST

static void bus_error_of_another(void) {
    char path[] = "/tmp/scoria-test-XXXXXX";
    autoclose int fd = mkstemp(path);
    const volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    unlink(path);
    if (page[0] == 0)
        _exit(1);
}

static void bus_error_sent(void) {
    raise(SIGBUS);
    _exit(1);
}

/* In a child; asserts that a SIGBUS ended it. */
static void check_ends(void (*code)(void)) {
    pid_t child = fork();
    int status;

    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        sqlite_map_setup();
        code();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

START_TEST(any_other_bus_error_ends_the_program) {
    check_ends(bus_error_of_another);
    check_ends(bus_error_sent);
}
END_TEST

CHECK_MAIN("sqlite_map", a_page_that_cannot_be_read_fails_one_request,
           a_change_keeps_the_mapping_until_the_end, any_other_bus_error_ends_the_program)

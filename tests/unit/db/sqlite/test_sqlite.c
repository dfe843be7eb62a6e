#include "db/sqlite/sqlite.h"

#include "common/clock.h"
#include "tests/unit/db/scratch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Opens and expects a refusal that has `words` and names the path. */
static void check_refused(const char *path, const char *words) {
    struct connection *connection = NULL;
    struct error err = { 0 };

    ck_assert_int_eq(sqlite_open(path, SQLITE_WRITER, &connection, &err), -1);
    ck_assert_ptr_null(connection);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, words), "%s", err.message);
    ck_assert_msg(strstr(err.message, path), "%s", err.message);
}

START_TEST(a_url_names_a_file_or_memory) {
    struct error err = { 0 };
    const char *path = NULL;

    ck_assert_int_eq(sqlite_path("sqlite:///var/lib/x", &path, &err), 0);
    ck_assert_str_eq(path, "/var/lib/x");
    ck_assert_int_eq(sqlite_path("sqlite://", &path, &err), 0);
    ck_assert_str_eq(path, "");
    ck_assert_int_eq(sqlite_path("sqlite://relative", &path, &err), -1);
    ck_assert_int_eq(sqlite_path("mysql://host/x", &path, &err), -1);
    ck_assert_int_eq(sqlite_path("", &path, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_str_eq(path, "");
}
END_TEST

START_TEST(a_wrong_url_opens_nothing) {
    struct db_settings settings = { .url = "mysql:///x" };
    struct error err = { 0 };
    struct db *db = NULL;

    ck_assert_int_eq(db_open(&settings, &db, &err), -1);
    ck_assert_ptr_null(db);
    ck_assert_ptr_nonnull(strstr(err.message, "mysql:"));
}
END_TEST

START_TEST(a_new_file_is_for_its_owner_only) {
    autoscratch struct scratch scratch;
    struct stat found;

    umask(0);
    scratch_make(&scratch);
    db_close(scratch_open(scratch.url, true));
    ck_assert_int_eq(stat(scratch.path, &found), 0);
    ck_assert_int_eq(found.st_mode & 0777, 0600);
}
END_TEST

START_TEST(a_missing_directory_is_refused) {
    autoscratch struct scratch scratch;
    char path[80];

    scratch_make(&scratch);
    snprintf(path, sizeof(path), "%s/missing/db", scratch.directory);
    check_refused(path, "No such file or directory");
    check_refused(scratch.directory, "not a regular file");
    snprintf(path, sizeof(path), "%s/dangling", scratch.directory);
    ck_assert_int_eq(symlink("/nonexistent/file", path), 0);
    check_refused(path, "No such file or directory");
}
END_TEST

static void file_fill(const char *path, const void *bytes, size_t size) {
    autoclose int fd = open(path, O_RDWR | O_CREAT, 0600);

    ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
}

START_TEST(a_file_that_is_no_database_is_refused_and_kept) {
    autoscratch struct scratch scratch;
    char text[4096];
    struct stat found;

    scratch_make(&scratch);
    memset(text, 'x', sizeof(text));
    file_fill(scratch.path, text, sizeof(text));
    check_refused(scratch.path, "not a database");
    ck_assert_int_eq(stat(scratch.path, &found), 0);
    ck_assert_int_eq(found.st_size, sizeof(text));
}
END_TEST

START_TEST(a_truncated_or_damaged_file_is_refused) {
    autoscratch struct scratch scratch;
    char damage[2048];

    scratch_make(&scratch);
    db_close(scratch_open(scratch.url, true));
    ck_assert_int_eq(truncate(scratch.path, 8192), 0);
    check_refused(scratch.path, "corrupt");
    unlink(scratch.path);
    db_close(scratch_open(scratch.url, true));
    memset(damage, 0x5a, sizeof(damage));
    damage[0] = 'S';
    autoclose int fd = open(scratch.path, O_RDWR);
    ck_assert_int_eq(pwrite(fd, damage, sizeof(damage), 100), (ssize_t)sizeof(damage));
    check_refused(scratch.path, "corrupt");
}
END_TEST

START_TEST(damage_below_the_schema_is_an_error_of_its_statement) {
    autoscratch struct scratch scratch;
    struct sql_number number = { .sql = "SELECT SUM(length(topic)) FROM outbox" };
    struct error err = { 0 };
    char damage[4096];
    int64_t page;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    for (int i = 0; i < 100; i++)
        sql_run(db, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                    "VALUES (hex(zeroblob(200)), 'm', 'k', '{}', 1)");
    page = sql_int(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'outbox'");
    db_close(db);
    memset(damage, 0x5a, sizeof(damage));
    {
        autoclose int fd = open(scratch.path, O_RDWR);

        ck_assert_int_eq(pwrite(fd, damage, sizeof(damage), (page - 1) * 4096),
                         (ssize_t)sizeof(damage));
    }
    db = scratch_open(scratch.url, false);
    ck_assert_int_eq(db_read(db, sql_number_body, &number, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "corrupt"));
    ck_assert_int_eq(sql_refused(db, "DELETE FROM outbox"), ERROR_UNAVAILABLE);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volumes"), 0);
    db_close(db);
}
END_TEST

/* Runs in a child: root may write everywhere, so it becomes another user first. */
static void check_read_only(const char *path, const char *words) {
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(9);
        check_refused(path, words);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(a_read_only_file_or_directory_is_refused) {
    autoscratch struct scratch scratch;

    scratch_make(&scratch);
    db_close(scratch_open(scratch.url, true));
    ck_assert_int_eq(chmod(scratch.path, 0444), 0);
    ck_assert_int_eq(chmod(scratch.directory, 0555), 0);
    check_read_only(scratch.path, "Permission denied");
    ck_assert_int_eq(chmod(scratch.path, 0666), 0);
    check_read_only(scratch.path, "directory is read-only");
    ck_assert_int_eq(unlink(scratch.path), geteuid() == 0 ? 0 : -1);
    check_read_only(scratch.path, geteuid() == 0 ? "Permission denied" : "directory is read-only");
    ck_assert_int_eq(chmod(scratch.directory, 0755), 0);
}
END_TEST

START_TEST(broken_rules_are_conflicts_or_bugs) {
    struct db *db = scratch_open("sqlite://", true);

    sql_run(db, "INSERT INTO volume_types (id, name, is_public, created_at) "
                "VALUES ('t', 'n', 1, 1)");
    ck_assert_int_eq(sql_refused(db, "INSERT INTO volume_types (id, name, is_public, created_at) "
                                     "VALUES ('t', 'other', 1, 1)"),
                     ERROR_COLLISION);
    ck_assert_int_eq(sql_refused(db, "INSERT INTO volume_types (id, name, is_public, created_at) "
                                     "VALUES ('u', 'n', 1, 1)"),
                     ERROR_COLLISION);
    ck_assert_int_eq(sql_refused(db, "INSERT INTO volume_type_projects VALUES ('none', 'p')"),
                     ERROR_COLLISION);
    ck_assert_int_eq(sql_refused(db, "INSERT INTO volume_type_projects VALUES ('t', NULL)"),
                     ERROR_INTERNAL);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volume_types"), 1);
    db_close(db);
}
END_TEST

/* Each of a few threads writes ever higher numbers and writes the committed ones to the pipe. */
enum { WRITERS = 3, KILLS = 25 };

struct teller {
    struct db *db;
    int fd;
    int64_t number;
};

static int number_body(struct db_tx *tx, void *arg, struct error *err) {
    const int64_t *number = arg;

    if (db_run(tx, err, "INSERT INTO item (id) VALUES ($1)", DB_INT(*number)) < 0)
        return -1;
    return db_run(tx, err, "INSERT INTO twin (id) VALUES ($1)", DB_INT(*number));
}

static void *teller_run(void *arg) {
    struct teller *teller = arg;
    struct error err;

    for (;; teller->number += WRITERS) {
        if (db_transaction(teller->db, number_body, &teller->number, &err) < 0)
            _exit(3);
        if (write(teller->fd, &teller->number, sizeof(teller->number)) < 0)
            _exit(4);
    }
    return NULL;
}

static void crash_child(const char *url, int fd, int64_t first) {
    struct teller tellers[WRITERS];
    pthread_t thread;
    struct db *db = scratch_open(url, false);

    for (int i = 0; i < WRITERS; i++) {
        tellers[i] = (struct teller){ db, fd, first + i };
        pthread_create(&thread, NULL, teller_run, &tellers[i]);
    }
    pause();
}

/* Lets a child write for a while, kills it; returns the highest number that it reported
 * committed. */
static int64_t crash_round(const char *url, int64_t first, useconds_t after_us, int64_t *committed,
                           int *count) {
    int64_t number, highest = first;
    int ends[2];
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0)
        crash_child(url, ends[1], first);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &number, sizeof(number)), sizeof(number));
    committed[(*count)++] = number;
    usleep(after_us);
    kill(child, SIGKILL);
    while (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
        committed[(*count)++] = number;
        highest = number > highest ? number : highest;
    }
    waitpid(child, NULL, 0);
    close(ends[0]);
    return highest;
}

START_TEST(a_confirmed_commit_survives_kill_9) {
    enum { COMMITTED_MOST = 1000000 };
    autofree int64_t *committed = calloc(COMMITTED_MOST, sizeof(*committed));
    autoscratch struct scratch scratch;
    int64_t first = 1;
    struct db *db;
    int count = 0;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    sql_run(db, "CREATE TABLE twin (id BIGINT PRIMARY KEY)");
    db_close(db);
    for (int i = 0; i < KILLS; i++) {
        int64_t highest =
            crash_round(scratch.url, first, (useconds_t)(i * 7919 % 40000), committed, &count);

        first = highest + 1000;
        db = scratch_open(scratch.url, true);
        for (int k = 0; k < count; k++) {
            char sql[80];

            snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM item WHERE id = %jd",
                     (intmax_t)committed[k]);
            ck_assert_msg(sql_int(db, sql) == 1, "round %d lost row %jd", i,
                          (intmax_t)committed[k]);
        }
        ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM item"),
                         sql_int(db, "SELECT COUNT(*) FROM twin"));
        ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM pragma_integrity_check WHERE "
                                     "integrity_check <> 'ok'"),
                         0);
        db_close(db);
        count = 0;
    }
}
END_TEST

static const char create_item[] = "CREATE TABLE item (id BIGINT)";
static const char insert_item[] = "INSERT INTO item (id) VALUES (1)";
static const char count_items[] = "SELECT COUNT(*) FROM item";

/* A database whose row is in its log alone, as after a kill. */
static void make_killed(const char *url) {
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct db *db = scratch_open(url, true);

        sql_run(db, create_item);
        sql_run(db, insert_item);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static int read_body(struct db_tx *tx, void *arg, struct error *err) {
    int64_t count;

    (void)arg;
    return db_query_int(tx, &count, err, count_items);
}

/* Another file is at the path of an open database without readers: it is neither changed nor read,
 * and a close leaves it its log. */
static void assert_other(struct db *db, const char *url) {
    struct error err = { 0 };

    ck_assert_int_eq(sql_refused(db, insert_item), ERROR_UNAVAILABLE);
    ck_assert_int_eq(db_read(db, read_body, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "is not the open database any more") != NULL, "%s",
                  err.message);
    db_close(db);
    db = scratch_open(url, true);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}

START_TEST(nothing_is_changed_in_a_file_that_is_not_at_its_path) {
    autoscratch struct scratch scratch, aside;
    struct db *db;

    scratch_make(&scratch);
    scratch_make(&aside);
    db = scratch_open(scratch.url, true);
    sql_run(db, create_item);
    ck_assert_int_eq(rename(scratch.directory, aside.directory), 0);
    ck_assert_int_eq(sql_refused(db, insert_item), ERROR_UNAVAILABLE);
    ck_assert_int_eq(rename(aside.directory, scratch.directory), 0);
    sql_run(db, insert_item);

    ck_assert_int_eq(rename(scratch.directory, aside.directory), 0);
    ck_assert_int_eq(mkdir(scratch.directory, 0700), 0);
    make_killed(scratch.url);
    assert_other(db, scratch.url);
    db = scratch_open(aside.url, true);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}
END_TEST

/* Each file system numbers its own. */
START_TEST(a_file_with_the_same_number_on_a_mount_is_another) {
    autoscratch struct scratch scratch, aside;
    struct stat covered, other;
    struct db *db;

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return; /* without the right to mount */
    scratch_make(&scratch);
    scratch_make(&aside);
    ck_assert_int_eq(mount("other", scratch.directory, "tmpfs", 0, NULL), 0);
    make_killed(scratch.url);
    ck_assert_int_eq(stat(scratch.path, &other), 0);
    ck_assert_int_eq(mount(scratch.directory, aside.directory, NULL, MS_MOVE, NULL), 0);
    ck_assert_int_eq(mount("covered", scratch.directory, "tmpfs", 0, NULL), 0);
    db = scratch_open(scratch.url, true);
    ck_assert_int_eq(stat(scratch.path, &covered), 0);
    ck_assert_uint_eq(covered.st_ino, other.st_ino);
    ck_assert_int_eq(mount(aside.directory, scratch.directory, NULL, MS_MOVE, NULL), 0);
    assert_other(db, scratch.url);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

START_TEST(the_file_behind_a_link_that_moves_is_another) {
    autoscratch struct scratch first, second, place;
    char link[48], url[64];
    struct db *db;

    scratch_make(&first);
    scratch_make(&second);
    scratch_make(&place);
    snprintf(link, sizeof(link), "%s/link", place.directory);
    snprintf(url, sizeof(url), "sqlite://%s/db", link);
    make_killed(second.url);
    ck_assert_int_eq(symlink(first.directory, link), 0);
    db = scratch_open(url, true);
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink(second.directory, link), 0);
    assert_other(db, url);
}
END_TEST

CHECK_MAIN("sqlite", a_url_names_a_file_or_memory, a_wrong_url_opens_nothing,
           a_new_file_is_for_its_owner_only, a_missing_directory_is_refused,
           a_file_that_is_no_database_is_refused_and_kept, a_truncated_or_damaged_file_is_refused,
           damage_below_the_schema_is_an_error_of_its_statement,
           a_read_only_file_or_directory_is_refused, broken_rules_are_conflicts_or_bugs,
           a_confirmed_commit_survives_kill_9, nothing_is_changed_in_a_file_that_is_not_at_its_path,
           a_file_with_the_same_number_on_a_mount_is_another,
           the_file_behind_a_link_that_moves_is_another)

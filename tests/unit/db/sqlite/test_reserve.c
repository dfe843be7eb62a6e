#include "db/sqlite/reserve.h"

#include "tests/lib/small_disk.h"
#include "tests/unit/db/scratch.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char *reserve_of(const struct scratch *scratch) {
    static char path[64];

    snprintf(path, sizeof(path), "%s-reserve", scratch->path);
    return path;
}

START_TEST(a_database_has_a_reserve_with_mode_0600) {
    autoscratch struct scratch scratch;
    struct stat found;

    scratch_make(&scratch);
    db_close(scratch_open(scratch.url, true));
    ck_assert_int_eq(stat(reserve_of(&scratch), &found), 0);
    ck_assert_int_eq(found.st_size, SQLITE_RESERVE_BYTES);
    ck_assert_int_ge(found.st_blocks * 512, SQLITE_RESERVE_BYTES);
    ck_assert_int_eq(found.st_mode & 0777, 0600);
}
END_TEST

START_TEST(a_reserve_is_released_once_and_made_again) {
    autoscratch struct scratch scratch;

    scratch_make(&scratch);
    ck_assert(!sqlite_reserve_release(scratch.path));
    db_close(scratch_open(scratch.url, true));
    ck_assert(sqlite_reserve_release(scratch.path));
    ck_assert(!sqlite_reserve_release(scratch.path));
    ck_assert_int_ne(access(reserve_of(&scratch), F_OK), 0);
    ck_assert(sqlite_reserve_make(scratch.path));
    ck_assert(sqlite_reserve_make(scratch.path));
    ck_assert_int_eq(access(reserve_of(&scratch), F_OK), 0);
}
END_TEST

static const char *filler_of(const struct scratch *scratch) {
    static char path[64];

    snprintf(path, sizeof(path), "%s/filler", scratch->directory);
    return path;
}

static void fill(const struct scratch *scratch) {
    static const char block[4096];
    int fd = open(filler_of(scratch), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    while (write(fd, block, sizeof(block)) > 0)
        continue;
    close(fd);
}

/* Three times as many bytes as the reserve has, of rows that need few. */
START_TEST(changes_of_a_full_disk_do_not_consume_the_reserve) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=48m"))
        return;
    db = scratch_open(scratch.url, false);
    sql_run(db, "CREATE TABLE much (bytes BLOB)");
    sql_run(db, "INSERT INTO much VALUES (zeroblob(65536))");
    ck_assert_int_eq(access(reserve_of(&scratch), F_OK), 0);
    fill(&scratch);
    for (int i = 0; i < 400; i++)
        sql_run(db, "UPDATE much SET bytes = randomblob(65536)");
    ck_assert_int_ne(access(reserve_of(&scratch), F_OK), 0);
    db_close(db);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

static off_t file_size(const char *path) {
    struct stat found;

    ck_assert_int_eq(stat(path, &found), 0);
    return found.st_size;
}

static void release_by_changes(const struct scratch *scratch, struct db *db) {
    fill(scratch);
    for (int i = 0; i < 400 && access(reserve_of(scratch), F_OK) == 0; i++)
        sql_run(db, "UPDATE much SET bytes = randomblob(65536)");
    ck_assert_int_ne(access(reserve_of(scratch), F_OK), 0);
}

/* A delete frees the space, and guests fill it again: at the next start the reserve is the only
 * space. */
START_TEST(a_reserve_is_made_again_after_one_change_and_at_the_end) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=48m"))
        return;
    db = scratch_open(scratch.url, true);
    sql_run(db, "CREATE TABLE much (bytes BLOB)");
    sql_run(db, "INSERT INTO much VALUES (zeroblob(65536))");
    release_by_changes(&scratch, db);
    ck_assert_int_eq(truncate(filler_of(&scratch), 0), 0);
    sql_run(db, "DELETE FROM much WHERE 0 = 1");
    ck_assert_int_eq(access(reserve_of(&scratch), F_OK), 0);

    sql_run(db, "INSERT INTO much VALUES (zeroblob(65536))");
    release_by_changes(&scratch, db);
    ck_assert_int_eq(truncate(filler_of(&scratch), 0), 0);
    db_close(db);
    ck_assert_int_eq(access(reserve_of(&scratch), F_OK), 0);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

static void update_much(struct db *db, int times) {
    for (int i = 0; i < times; i++)
        sql_run(db, "UPDATE much SET bytes = randomblob(65536)");
}

/* Guests take all the space that is free at any time, also while the service is stopped. */
START_TEST(released_space_is_the_databases_beside_guests_that_take_all) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=48m"))
        return;
    db = scratch_open(scratch.url, true);
    sql_run(db, "CREATE TABLE much (bytes BLOB)");
    sql_run(db, "INSERT INTO much VALUES (zeroblob(65536))");
    db_close(db);
    for (int i = 0; i < 3; i++) {
        fill(&scratch);
        db = scratch_open(scratch.url, true);
        for (int j = 0; j < 200 && access(reserve_of(&scratch), F_OK) == 0; j++)
            update_much(db, 1);
        ck_assert_int_ne(access(reserve_of(&scratch), F_OK), 0);
        fill(&scratch);
        update_much(db, 100);
        db_close(db);
        ck_assert_int_eq(access(reserve_of(&scratch), F_OK), 0);
    }
    ck_assert_int_eq(truncate(filler_of(&scratch), 0), 0);
    db = scratch_open(scratch.url, true);
    update_much(db, 1);
    db_close(db);
    ck_assert_int_eq(file_size(reserve_of(&scratch)), SQLITE_RESERVE_BYTES);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

static int space_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_check_space(tx, err);
}

START_TEST(the_last_space_is_left_to_deletes) {
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;

    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=48m"))
        return;
    db = scratch_open(scratch.url, false);
    ck_assert_int_eq(db_transaction(db, space_body, NULL, &err), 0);
    fill(&scratch);
    ck_assert_int_eq(db_transaction(db, space_body, NULL, &err), 0); /* the reserve is there */
    ck_assert(sqlite_reserve_release(scratch.path));                 /* as another process does */
    fill(&scratch);
    ck_assert_int_eq(db_transaction(db, space_body, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_str_eq(err.message,
                     "The disk of the database is nearly full: objects can only be deleted.");
    ck_assert_int_eq(truncate(filler_of(&scratch), 0), 0);
    ck_assert_int_eq(db_transaction(db, space_body, NULL, &err), 0);
    db_close(db);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

enum { SERVICE = 65534 };

/* A database of the service, without a reserve, in a directory of its own. */
static void own_by_service(const struct scratch *scratch) {
    db_close(scratch_open(scratch->url, true));
    ck_assert(sqlite_reserve_release(scratch->path));
    ck_assert_int_eq(chown(scratch->path, SERVICE, SERVICE), 0);
    ck_assert_int_eq(chown(scratch->directory, SERVICE, SERVICE), 0);
}

START_TEST(a_reserve_that_root_makes_has_the_owner_of_the_database) {
    for (int of_rest = 0; of_rest <= 1 && geteuid() == 0; of_rest++) {
        autoscratch struct scratch scratch;
        struct stat found;

        scratch_make(&scratch);
        own_by_service(&scratch);
        if (of_rest)
            sqlite_reserve_make_of_rest(scratch.path);
        else
            ck_assert(sqlite_reserve_make(scratch.path));
        ck_assert_int_eq(stat(reserve_of(&scratch), &found), 0);
        ck_assert_uint_eq(found.st_uid, SERVICE);
        ck_assert_uint_eq(found.st_gid, SERVICE);
        ck_assert_int_eq(found.st_mode & 0777, 0600);
    }
}
END_TEST

/* As an earlier version left it. */
START_TEST(a_partial_reserve_of_another_user_is_replaced) {
    autoscratch struct scratch scratch;
    struct stat found;
    int fd, status;
    pid_t child;

    scratch_make(&scratch);
    if (geteuid() != 0)
        return;
    own_by_service(&scratch);
    fd = open(reserve_of(&scratch), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    close(fd);
    child = fork();
    if (child == 0)
        _exit(setgid(SERVICE) < 0 || setuid(SERVICE) < 0 || !sqlite_reserve_make(scratch.path));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(stat(reserve_of(&scratch), &found), 0);
    ck_assert_int_eq(found.st_size, SQLITE_RESERVE_BYTES);
    ck_assert_uint_eq(found.st_uid, SERVICE);
}
END_TEST

START_TEST(a_path_without_space_for_the_name_has_none) {
    char path[PATH_MAX];

    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    ck_assert(!sqlite_reserve_make(path));
    ck_assert(!sqlite_reserve_release(path));
    ck_assert(!sqlite_reserve_make("/nonexistent/database"));
}
END_TEST

CHECK_MAIN("reserve", a_database_has_a_reserve_with_mode_0600,
           a_reserve_is_released_once_and_made_again,
           changes_of_a_full_disk_do_not_consume_the_reserve,
           a_reserve_is_made_again_after_one_change_and_at_the_end,
           released_space_is_the_databases_beside_guests_that_take_all,
           the_last_space_is_left_to_deletes,
           a_reserve_that_root_makes_has_the_owner_of_the_database,
           a_partial_reserve_of_another_user_is_replaced,
           a_path_without_space_for_the_name_has_none)

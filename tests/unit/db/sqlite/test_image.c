#include "db/sqlite/image.h"

#include "db/migrate.h"
#include "db/schema.h"
#include "tests/lib/small_disk.h"
#include "tests/unit/db/scratch.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

/* A file system without unnamed files, or a program without an image: the statements run. */
static bool is_supported(const char *directory) {
    autoclose int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 && schema_image_part_count > 0;
}

static unsigned count_files(const char *directory) {
    DIR *found = opendir(directory);
    unsigned count = 0;

    while (readdir(found))
        count++;
    closedir(found);
    return count - 2; /* "." and ".." */
}

static void check_schema(const char *url) {
    struct db *db = scratch_open(url, true);

    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), schema_text_count);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM clock"), 1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM pragma_integrity_check "
                                 "WHERE integrity_check = 'ok'"),
                     1);
    db_close(db);
}

START_TEST(the_file_is_complete_and_for_its_owner_only) {
    autoscratch struct scratch scratch;
    struct stat found;

    scratch_make(&scratch);
    if (!is_supported(scratch.directory))
        return;
    umask(0);
    ck_assert(sqlite_image_make(scratch.path));
    ck_assert_int_eq(stat(scratch.path, &found), 0);
    ck_assert_int_eq(found.st_mode & 07777, 0600);
    ck_assert_int_eq(found.st_uid, geteuid());
    ck_assert_int_eq(found.st_size, (off_t)schema_image_size);
    ck_assert_uint_eq(found.st_nlink, 1);
    ck_assert_int_eq(count_files(scratch.directory), 1);
    check_schema(scratch.url);
}
END_TEST

START_TEST(an_existing_name_keeps_its_file) {
    autoscratch struct scratch scratch;
    struct stat found;

    scratch_make(&scratch);
    ck_assert_int_eq(mknod(scratch.path, S_IFREG | 0600, 0), 0);
    ck_assert(!sqlite_image_make(scratch.path));
    ck_assert_int_eq(stat(scratch.path, &found), 0);
    ck_assert_int_eq(found.st_size, 0);
    check_schema(scratch.url);
    ck_assert_int_eq(unlink(scratch.path), 0);
    ck_assert_int_eq(symlink("/nonexistent/file", scratch.path), 0);
    ck_assert(!sqlite_image_make(scratch.path));
}
END_TEST

START_TEST(processes_that_start_together_have_one_database) {
    enum { PROCESSES = 8 };
    autoscratch struct scratch scratch;
    int status;

    scratch_make(&scratch);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            struct db *db = scratch_open(scratch.url, true);

            sql_run(db, "INSERT INTO quota_usages (project_id, resource, used) VALUES "
                        "((SELECT COUNT(*) FROM quota_usages), 'v', 1)");
            db_close(db);
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    check_schema(scratch.url);
    {
        struct db *db = scratch_open(scratch.url, true);

        ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM quota_usages"), PROCESSES);
        db_close(db);
    }
}
END_TEST

/* The changes of a database that was removed without its log are none of the new one. */
START_TEST(the_log_of_a_removed_database_is_not_replayed) {
    static const char *const suffixes[] = { "-wal", "-journal" };
    autoscratch struct scratch scratch;
    char log[80], kept[80];
    struct db *db;

    scratch_make(&scratch);
    snprintf(log, sizeof(log), "%s-wal", scratch.path);
    snprintf(kept, sizeof(kept), "%s/kept", scratch.directory);
    db = scratch_open(scratch.url, true);
    sql_run(db, "INSERT INTO quota_usages (project_id, resource, used) VALUES ('p', 'v', 1)");
    ck_assert_int_eq(link(log, kept), 0); /* closing removes the log */
    db_close(db);
    ck_assert_int_eq(unlink(scratch.path), 0);
    ck_assert_int_eq(rename(kept, log), 0);
    db = scratch_open(scratch.url, true);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM quota_usages"), 0);
    db_close(db);
    check_schema(scratch.url);
    for (size_t i = 0; i < LENGTH(suffixes); i++) {
        ck_assert_int_eq(unlink(scratch.path), 0);
        snprintf(log, sizeof(log), "%s%s", scratch.path, suffixes[i]);
        ck_assert_int_eq(mknod(log, S_IFREG | 0600, 0), 0);
        ck_assert(!sqlite_image_make(scratch.path));
        check_schema(scratch.url);
    }
}
END_TEST

/* As after a crash within it: a file without a name is gone. */
START_TEST(an_incomplete_file_never_has_the_name) {
    const struct rlimit small = { 100000, RLIM_INFINITY };
    autoscratch struct scratch scratch;
    int status;

    scratch_make(&scratch);
    if (fork() == 0) {
        signal(SIGXFSZ, SIG_IGN);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        _exit(sqlite_image_make(scratch.path));
    }
    ck_assert_int_gt(wait(&status), 0);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(count_files(scratch.directory), 0);
    check_schema(scratch.url);
}
END_TEST

START_TEST(a_full_disk_is_reported_and_has_no_half_of_a_database) {
    autoscratch struct scratch scratch;
    struct db_settings settings;
    struct error err = { 0 };
    struct db *db;

    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=200k"))
        return;
    settings = (struct db_settings){ .url = scratch.url };
    ck_assert(!sqlite_image_make(scratch.path));
    ck_assert_int_eq(count_files(scratch.directory), 0);
    ck_assert_int_eq(db_open(&settings, &db, &err), -1);
    ck_assert_msg(strstr(err.message, "The disk of the database is full"), "%s", err.message);
    ck_assert_msg(strstr(err.message, scratch.path), "%s", err.message);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

CHECK_MAIN("image", the_file_is_complete_and_for_its_owner_only, an_existing_name_keeps_its_file,
           processes_that_start_together_have_one_database,
           the_log_of_a_removed_database_is_not_replayed, an_incomplete_file_never_has_the_name,
           a_full_disk_is_reported_and_has_no_half_of_a_database)

#include "db/migrate.h"

#include "db/engine.h"
#include "db/reset.h"
#include "db/schema.h"
#include "tests/lib/small_disk.h"
#include "tests/unit/db/scratch.h"

#include <ctype.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#define assert_part(text, part) ck_assert_msg(strstr(text, part) != NULL, "%s", text)

static int migrate_body(struct db_tx *tx, void *words, struct error *err) {
    const struct migrate_settings settings = { .serial_words = words };

    return migrate_run(tx, &settings, err);
}

static char serial_words[] = "INTEGER PRIMARY KEY AUTOINCREMENT";

START_TEST(texts_are_in_the_order_of_their_numbers) {
    ck_assert_int_ge(schema_text_count, 1);
    ck_assert_int_eq(schema_texts[0].number, 1);
    ck_assert_str_eq(schema_texts[0].name, "0001_volumes");
    for (unsigned i = 1; i < schema_text_count; i++)
        ck_assert_int_gt(schema_texts[i].number, schema_texts[i - 1].number);
    ck_assert_int_eq(migrate_newest(), schema_texts[schema_text_count - 1].number);
}
END_TEST

START_TEST(a_new_database_gets_every_text_once) {
    struct db *db = scratch_open("sqlite://", true);
    struct error err;

    ck_assert_int_eq(sql_int(db, "SELECT MAX(number) FROM schema_version"), migrate_newest());
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), schema_text_count);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volumes"), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM pools"), 0);
    ck_assert_int_eq(db_transaction(db, migrate_body, serial_words, &err), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), schema_text_count);
    db_close(db);
}
END_TEST

/* A database as it was when there was only the first text. */
static void make_old(const char *path, const char *more) {
    static const char mark[] = " @serial@";
    const char *text = schema_texts[0].sql, *place = strstr(text, mark);
    autoarena struct arena *arena = arena_new();
    const char *sql =
        arena_format(arena,
                     "%.*s %s%s CREATE TABLE schema_version (number BIGINT); "
                     "INSERT INTO schema_version VALUES (1); %s",
                     (int)(place - text), text, serial_words, place + strlen(mark), more);
    sqlite3 *raw;

    ck_assert_int_eq(sqlite3_open(path, &raw), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
}

START_TEST(an_older_database_keeps_its_rows_and_gets_new_columns) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    make_old(scratch.path,
             "INSERT INTO services (id, binary_name, host, availability_zone, disabled, frozen, "
             "reported_at, created_at) VALUES ('s', 'b', 'h', 'z', 0, 0, 1, 1); "
             "INSERT INTO services (id, binary_name, host, availability_zone, disabled, frozen, "
             "reported_at, created_at) VALUES ('v', 'cinder-volume', 'n@b', 'z', 0, 0, 1, 1); "
             "INSERT INTO pools (name, host, capabilities, infinite, allocated_gb, reported_at) "
             "VALUES ('n@b#p', 'n@b', '{}', 0, 0, 1); "
             "INSERT INTO volumes (id, project_id, user_id, host, availability_zone, size_gb, "
             "largest_gb, status, status_by_reset, attach_status, bootable, multiattach, "
             "use_quota, created_at) VALUES ('x', 'p', 'u', 'n@b#p', 'z', 1, 1, 'available', 0, "
             "'detached', 0, 0, 1, 1); "
             "INSERT INTO quota_usages VALUES ('p', 'gigabytes', 7, 3), ('p', 'volumes', 2, 0)");
    db = scratch_open(scratch.url, true);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM services WHERE host = 'h'"), 1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volumes WHERE service_uuid = 'v'"), 1);
    ck_assert_int_eq(sql_int(db, "SELECT used FROM quota_usages WHERE resource = 'gigabytes'"), 10);
    ck_assert_int_eq(sql_int(db, "SELECT used FROM quota_usages WHERE resource = 'volumes'"), 2);
    ck_assert_int_eq(sql_int(db, "SELECT MAX(number) FROM schema_version"), migrate_newest());
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), schema_text_count);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM default_volume_types"), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM pragma_index_info('volumes_by_status')"), 4);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM pragma_index_info('volumes_by_name')"), 4);
    db_close(db);
}
END_TEST

static int64_t number_in(const char *path, const char *sql) {
    sqlite3_stmt *statement;
    sqlite3 *raw;
    int64_t number;

    ck_assert_int_eq(sqlite3_open_v2(path, &raw, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(raw, sql, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(raw);
    return number;
}

START_TEST(a_migration_keeps_a_copy_of_the_database_before) {
    autoscratch struct scratch scratch;
    char copy[80];
    struct stat found;

    scratch_make(&scratch);
    snprintf(copy, sizeof copy, "%s.schema-1", scratch.path);
    umask(0);
    for (int i = 0; i < 2; i++) { /* a copy of an earlier try goes */
        make_old(scratch.path, "INSERT INTO quota_usages VALUES ('p', 'volumes', 2, 0)");
        db_close(scratch_open(scratch.url, true));
        ck_assert_int_eq(number_in(scratch.path, "SELECT MAX(number) FROM schema_version"),
                         migrate_newest());
        ck_assert_int_eq(number_in(copy, "SELECT MAX(number) FROM schema_version"), 1);
        ck_assert_int_eq(number_in(copy, "SELECT in_use FROM quota_usages"), 2);
        ck_assert_int_eq(stat(copy, &found), 0);
        ck_assert_int_eq(found.st_mode & 07777, 0600);
        ck_assert_int_eq(unlink(scratch.path), 0);
    }
}
END_TEST

START_TEST(a_new_database_has_no_copy) {
    autoscratch struct scratch scratch;
    char copy[80];

    scratch_make(&scratch);
    snprintf(copy, sizeof copy, "%s.schema-0", scratch.path);
    db_close(scratch_open(scratch.url, true));
    db_close(scratch_open(scratch.url, true));
    ck_assert_int_ne(access(copy, F_OK), 0);
    snprintf(copy, sizeof copy, "%s.schema-%d", scratch.path, migrate_newest());
    ck_assert_int_ne(access(copy, F_OK), 0);
}
END_TEST

static int read_sizes(const char *message, int *ret_needed, int *ret_left, char *ret_place) {
    const char *sizes = strstr(message, "A copy of the database");

    return sizes ? sscanf(sizes,
                          "A copy of the database needs %d KiB, and %d KiB are free in %79[^.].",
                          ret_needed, ret_left, ret_place)
                 : 0;
}

START_TEST(without_space_for_a_copy_nothing_is_migrated) {
    autoscratch struct scratch scratch;
    struct db_settings settings;
    char place[80];
    int needed, left;
    struct error err = { 0 };
    struct db *db;

    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=600k"))
        return;
    settings = (struct db_settings){ .url = scratch.url };
    make_old(scratch.path, "CREATE TABLE much (bytes BLOB); "
                           "INSERT INTO much VALUES (zeroblob(300000))");
    ck_assert_int_eq(db_open(&settings, &db, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(read_sizes(err.message, &needed, &left, place), 3);
    ck_assert_int_gt(needed, left);
    ck_assert_int_gt(left, 0);
    ck_assert_str_eq(place, scratch.directory);
    assert_part(err.message, "the migration of schema 1 to ");
    ck_assert_int_eq(number_in(scratch.path, "SELECT MAX(number) FROM schema_version"), 1);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

/* The copy is beside the link, and the database elsewhere. */
START_TEST(the_space_for_a_copy_is_that_of_its_directory) {
    autoscratch struct scratch real, scratch;
    struct db_settings settings;
    struct error err = { 0 };
    char place[80];
    struct db *db;
    int needed, left;

    scratch_make(&real);
    scratch_make(&scratch);
    if (!small_disk(scratch.directory, "size=100k"))
        return;
    settings = (struct db_settings){ .url = scratch.url };
    make_old(real.path, "CREATE TABLE much (bytes BLOB); "
                        "INSERT INTO much VALUES (zeroblob(300000))");
    ck_assert_int_eq(symlink(real.path, scratch.path), 0);
    ck_assert_int_eq(db_open(&settings, &db, &err), -1);
    ck_assert_msg(read_sizes(err.message, &needed, &left, place) == 3, "%s", err.message);
    ck_assert_int_le(left, 100);
    ck_assert_str_eq(place, scratch.directory);
    ck_assert_int_eq(number_in(real.path, "SELECT MAX(number) FROM schema_version"), 1);
    ck_assert_int_eq(umount2(scratch.directory, MNT_DETACH), 0);
}
END_TEST

static struct db *open_to_read(const char *url, enum db_access access, struct error *err) {
    const struct db_settings settings = { .url = url, .inline_writes = true, .access = access };
    struct db *db = NULL;

    return db_open(&settings, &db, err) == 0 ? db : NULL;
}

/* On either engine. */
START_TEST(a_database_that_was_opened_to_read_is_changed_by_nothing) {
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;

    scratch_make_tested(&scratch);
    db_close(scratch_open(scratch.url, true));
    db = open_to_read(scratch.url, DB_READS, &err);
    ck_assert_msg(db != NULL, "%s", err.message);
    ck_assert_int_eq(sql_int(db, "SELECT MAX(number) FROM schema_version"), migrate_newest());
    sql_refused(db, "INSERT INTO quota_usages (project_id, resource, used) VALUES ('p', 'v', 1)");
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM quota_usages WHERE project_id = 'p'"), 0);
    ck_assert_int_gt(clock_shared_us(db_clock(db)), 0);
    db_close(db);
}
END_TEST

static unsigned count_of(const char *text, const char *part) {
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

START_TEST(a_database_that_cannot_be_opened_is_named_once) {
    static const enum db_access accesses[] = { DB_SERVES, DB_CHANGES, DB_READS };

    for (size_t i = 0; i < LENGTH(accesses); i++) {
        autoscratch struct scratch scratch;
        struct db_settings settings;
        struct error err = { 0 };
        struct db *db;

        scratch_make(&scratch);
        settings = (struct db_settings){ .url = scratch.url, .access = accesses[i] };
        ck_assert_int_eq(mkdir(scratch.path, 0700), 0);
        ck_assert_int_eq(db_open(&settings, &db, &err), -1);
        ck_assert_msg(count_of(err.message, scratch.path) == 1, "%s", err.message);
        ck_assert_int_eq(rmdir(scratch.path), 0);
        make_old(scratch.path, "DROP TABLE schema_version");
        ck_assert_int_eq(truncate(scratch.path, 1000), 0);
        ck_assert_int_eq(db_open(&settings, &db, &err), -1);
        ck_assert_msg(count_of(err.message, scratch.path) == 1, "%s", err.message);
    }
}
END_TEST

/* On either engine. */
START_TEST(other_schemas_are_left_as_they_are_by_reading) {
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;

    scratch_make_tested(&scratch);
    db = scratch_open(scratch.url, true);
    sql_run(db, "DELETE FROM schema_version WHERE number > 40");
    db_close(db);
    ck_assert_ptr_null(open_to_read(scratch.url, DB_READS, &err));
    assert_part(err.message, "The schema has number 40, older than ");
    db = open_to_read(scratch.url, DB_LOOKS, &err);
    ck_assert_msg(db != NULL, "%s", err.message);
    ck_assert_int_eq(sql_int(db, "SELECT MAX(number) FROM schema_version"), 40);
    db_close(db);
}
END_TEST

/* An empty one as after a crash of a first start: there is nothing to change. */
START_TEST(a_database_that_cannot_be_changed_stays_as_it_is) {
    static const char *const older = "DROP TABLE schema_version; "
                                     "CREATE TABLE schema_version (number BIGINT)";

    for (int empty = 0; empty <= 1; empty++) {
        autoscratch struct scratch scratch;
        struct error err = { 0 };
        struct stat before, after;
        char reserve[80];

        scratch_make(&scratch);
        snprintf(reserve, sizeof reserve, "%s-reserve", scratch.path);
        make_old(scratch.path, older);
        if (empty)
            ck_assert_int_eq(truncate(scratch.path, 0), 0);
        ck_assert_int_eq(stat(scratch.path, &before), 0);
        ck_assert_ptr_null(open_to_read(scratch.url, DB_CHANGES, &err));
        assert_part(err.message, empty ? "It has no schema" : "a database of another program");
        ck_assert_int_eq(stat(scratch.path, &after), 0);
        ck_assert_int_eq(after.st_size, before.st_size);
        ck_assert_int_eq(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
        ck_assert_int_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
        ck_assert_int_ne(access(reserve, F_OK), 0);
    }
}
END_TEST

/* Cinder's own database, in a configuration that was Cinder's, has a table of the same name. */
START_TEST(tables_of_another_program_are_refused_and_get_none_beside) {
    static const char *const theirs[] = { "volumes", "users" };
    static const enum db_access accesses[] = { DB_SERVES, DB_CHANGES, DB_READS };

    for (size_t i = 0; i < LENGTH(theirs) * LENGTH(accesses); i++) {
        autoscratch struct scratch scratch;
        autoarena struct arena *arena = arena_new();
        const char *their = theirs[i % LENGTH(theirs)];
        struct db_settings settings;
        struct error err = { 0 };
        struct db *db = NULL;
        sqlite3 *raw;

        scratch_make(&scratch);
        ck_assert_int_eq(sqlite3_open(scratch.path, &raw), SQLITE_OK);
        ck_assert_int_eq(sqlite3_exec(raw, arena_format(arena, "CREATE TABLE %s (id TEXT)", their),
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        sqlite3_close(raw);
        settings =
            (struct db_settings){ .url = scratch.url, .access = accesses[i / LENGTH(theirs)] };
        ck_assert_int_eq(db_open(&settings, &db, &err), -1);
        assert_part(err.message, scratch.path);
        assert_part(err.message, arena_format(arena, "it has a table \"%s\"", their));
        db = open_to_read(scratch.url, DB_LOOKS, &err);
        ck_assert_msg(db != NULL, "%s", err.message);
        ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM sqlite_schema"), 1);
        db_close(db);
    }
}
END_TEST

static void file_read(const char *path, char *content, size_t size, size_t *ret_length) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, content, size);

    ck_assert_int_gt(length, 0);
    ck_assert_int_lt(length, (ssize_t)size);
    *ret_length = (size_t)length;
}

static int count_entries(const char *directory) {
    DIR *open = opendir(directory);
    int count = 0;

    while (readdir(open))
        count++;
    closedir(open);
    return count - 2;
}

/* A service that is configured with its path: the file keeps its journal mode. */
START_TEST(the_file_of_another_program_is_left_as_it_is) {
    static const char later_version[] = "CREATE TABLE schema_version (number BIGINT); "
                                        "INSERT INTO schema_version VALUES (4711)";
    static const char *const theirs[] = {
        "CREATE TABLE users (id TEXT)",
        later_version,
        "CREATE TABLE schema_version (version_rank INT)",
        "PRAGMA journal_mode = WAL; CREATE TABLE users (id TEXT)",
    };

    for (size_t i = 0; i < LENGTH(theirs); i++) {
        static char before[65536], after[65536];
        autoscratch struct scratch scratch;
        autoarena struct arena *arena = arena_new();
        size_t length, length_after;
        struct db_settings settings;
        struct error err = { 0 };
        struct db *db;
        sqlite3 *raw;

        scratch_make(&scratch);
        ck_assert_int_eq(sqlite3_open(scratch.path, &raw), SQLITE_OK);
        ck_assert_int_eq(sqlite3_exec(raw, theirs[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(raw);
        file_read(scratch.path, before, sizeof(before), &length);
        settings = (struct db_settings){ .url = scratch.url, .inline_writes = true };
        ck_assert_int_eq(db_open(&settings, &db, &err), -1);
        ck_assert_msg(count_of(err.message, scratch.path) == 1, "%s", err.message);
        file_read(scratch.path, after, sizeof(after), &length_after);
        ck_assert_uint_eq(length_after, length);
        ck_assert_msg(memcmp(before, after, length) == 0, "%s", theirs[i]);
        ck_assert_int_ne(access(arena_format(arena, "%s-reserve", scratch.path), F_OK), 0);
        ck_assert_int_eq(count_entries(scratch.directory), 1);
    }
}
END_TEST

/* SQLite creates a log and its index beside a file in WAL mode, and a read-only connection leaves
 * them there. */
START_TEST(no_log_is_left_beside_the_file_of_another_program) {
    static const char *const names[] = { "db", "odd?mode=rw#%41 db" };

    for (enum db_access access = DB_SERVES; access <= DB_LOOKS; access++)
        for (size_t i = 0; i < LENGTH(names); i++) {
            autoscratch struct scratch scratch;
            autoarena struct arena *arena = arena_new();
            const char *path;
            struct db_settings settings;
            struct error err = { 0 };
            struct db *db = NULL;
            sqlite3 *raw;

            scratch_make(&scratch);
            path = arena_format(arena, "%s/%s", scratch.directory, names[i]);
            ck_assert_int_eq(sqlite3_open(path, &raw), SQLITE_OK);
            ck_assert_int_eq(sqlite3_exec(raw,
                                          "PRAGMA journal_mode = WAL; CREATE TABLE users (id TEXT)",
                                          NULL, NULL, NULL),
                             SQLITE_OK);
            sqlite3_close(raw);
            settings = (struct db_settings){ .url = arena_format(arena, "sqlite://%s", path),
                                             .access = access };
            if (access == DB_LOOKS) {
                ck_assert_msg(db_open(&settings, &db, &err) == 0, "%s", err.message);
                ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM users"), 0);
                db_close(db);
            } else {
                ck_assert_int_eq(db_open(&settings, &db, &err), -1);
                assert_part(err.message, "it has a table \"users\"");
                ck_assert_msg(count_of(err.message, path) == 1, "%s", err.message);
            }
            ck_assert_int_eq(count_entries(scratch.directory), 1);
        }
}
END_TEST

/* A program that ends without closing the file. */
static void leave_open(const char *path, const char *sql) {
    pid_t child = fork();
    int status;

    if (child == 0) {
        sqlite3 *raw;

        _exit(sqlite3_open(path, &raw) != SQLITE_OK ||
              sqlite3_exec(raw, sql, NULL, NULL, NULL) != SQLITE_OK);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* Names and content, one after the other. */
static const char *files_read(struct arena *arena, const char *directory) {
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    const char *all = "";

    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; free(entries[i++])) {
        static char content[1 << 20];
        uint64_t hash = 14695981039346656037U; /* FNV-1a */
        size_t length;

        if (entries[i]->d_type == DT_DIR)
            continue;
        file_read(arena_format(arena, "%s/%s", directory, entries[i]->d_name), content,
                  sizeof(content), &length);
        for (size_t at = 0; at < length; at++)
            hash = (hash ^ (unsigned char)content[at]) * 1099511628211U;
        all =
            arena_format(arena, "%s%s %zu %016" PRIx64 "\n", all, entries[i]->d_name, length, hash);
    }
    free(entries);
    return all;
}

/* Its log without an index, as a copy has it, or with one; and a change that was interrupted. */
START_TEST(all_files_of_another_program_stay_as_they_are) {
    static const char wal[] = "PRAGMA journal_mode = WAL; CREATE TABLE users (id TEXT)";
    static const char interrupted[] =
        "CREATE TABLE users (id BLOB); INSERT INTO users VALUES (zeroblob(200000)); "
        "PRAGMA cache_size = 1; BEGIN; UPDATE users SET id = randomblob(200000)";
    static const struct {
        const char *sql, *removed, *beside, *error;
        bool linked;
    } rows[] = {
        { wal, "-shm", "-wal", "it has a table \"users\"", false },
        { wal, "-shm", "-wal", "it has a table \"users\"", true },
        { wal, NULL, "-shm", "it has a table \"users\"", false },
        { wal, NULL, "-shm", "it has a table \"users\"", true },
        { interrupted, NULL, "-journal", "interrupted", false },
    };

    for (size_t i = 0; i < LENGTH(rows) * (DB_LOOKS + 1); i++) {
        const size_t row = i / (DB_LOOKS + 1);
        autoscratch struct scratch scratch;
        autoarena struct arena *arena = arena_new();
        struct db_settings settings = { .url = scratch.url, .access = i % (DB_LOOKS + 1) };
        struct error err = { 0 };
        const char *path, *before;
        struct sql_number users = { .sql = "SELECT COUNT(*) FROM users" };
        const bool is_wal = rows[row].sql == wal;
        struct db *db = NULL;

        scratch_make(&scratch);
        path = rows[row].linked ? arena_format(arena, "%s-there", scratch.path) : scratch.path;
        if (rows[row].linked)
            ck_assert_int_eq(symlink(path, scratch.path), 0);
        leave_open(path, rows[row].sql);
        if (rows[row].removed)
            ck_assert_int_eq(unlink(arena_format(arena, "%s%s", path, rows[row].removed)), 0);
        ck_assert_int_eq(access(arena_format(arena, "%s%s", path, rows[row].beside), F_OK), 0);
        before = files_read(arena, scratch.directory);
        if (settings.access == DB_LOOKS) {
            ck_assert_int_eq(db_open(&settings, &db, &err), 0);
            ck_assert_int_eq(db_read(db, sql_number_body, &users, &err), is_wal ? 1 : -1);
            db_close(db);
        } else
            ck_assert_int_eq(db_open(&settings, &db, &err), -1);
        if (settings.access != DB_LOOKS || !is_wal)
            assert_part(err.message, rows[row].error);
        ck_assert_str_eq(files_read(arena, scratch.directory), before);
    }
}
END_TEST

START_TEST(a_newer_schema_is_refused_with_the_path) {
    autoscratch struct scratch scratch;
    struct db_settings settings;
    struct error err = { 0 };
    struct db *db;

    scratch_make(&scratch);
    settings = (struct db_settings){ .url = scratch.url };
    db = scratch_open(scratch.url, true);
    sql_run(db, "INSERT INTO schema_version VALUES (4711)");
    db_close(db);
    db = NULL;
    ck_assert_int_eq(db_open(&settings, &db, &err), -1);
    ck_assert_ptr_null(db);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_ptr_nonnull(strstr(err.message, "4711"));
    ck_assert_ptr_nonnull(strstr(err.message, scratch.path));
}
END_TEST

START_TEST(a_text_that_fails_is_named_and_nothing_stays) {
    struct db *db = scratch_open("sqlite://", true);
    struct error err = { 0 };

    sql_run(db, "DELETE FROM schema_version WHERE number > 31");
    ck_assert_int_eq(db_transaction(db, migrate_body, serial_words, &err), -1);
    assert_part(err.message, "schema 0032_documents_counted");
    ck_assert_int_eq(sql_int(db, "SELECT MAX(number) FROM schema_version"), 31);
    sql_run(db, "DELETE FROM schema_version");
    ck_assert_int_eq(db_transaction(db, migrate_body, serial_words, &err), -1);
    assert_part(err.message, "no schema of scoria");
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), 0);
    db_close(db);
}
END_TEST

static int text_body(struct db_tx *tx, void *sql, struct error *err) {
    return migrate_text(tx, sql, serial_words, err);
}

START_TEST(a_text_is_cut_at_the_ends_of_its_statements) {
    static char text[] = "-- first; nothing\n"
                         "CREATE TABLE a (id @serial@, -- a key; ours\n"
                         "    name TEXT DEFAULT 'x;--y');\n\n"
                         "INSERT INTO a (name) VALUES ('it''s; so');\n"
                         "INSERT INTO a (id) VALUES (7) -- the end";
    struct db *db = scratch_open("sqlite://", true);
    struct error err = { 0 };

    ck_assert_msg(db_transaction(db, text_body, text, &err) == 0, "%s", err.message);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM a"), 2);
    ck_assert_int_eq(sql_int(db, "SELECT id FROM a WHERE name = 'it''s; so'"), 1);
    ck_assert_int_eq(sql_int(db, "SELECT id FROM a WHERE name = 'x;--y'"), 7);
    db_close(db);
}
END_TEST

static void make_metadata_old(struct db *db) {
    sql_run(db, "DROP TABLE volume_metadata");
    sql_run(db, "DROP TABLE snapshot_metadata");
    sql_run(db, "CREATE TABLE volume_metadata (volume_id TEXT NOT NULL REFERENCES volumes (id), "
                "key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (volume_id, key))");
    sql_run(db, "CREATE TABLE snapshot_metadata (snapshot_id TEXT NOT NULL REFERENCES snapshots "
                "(id), key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (snapshot_id, key))");
}

static void run_text(struct db *db, int number) {
    const struct schema_text *text = schema_texts;
    struct error err = { 0 };

    while (text->number != number)
        text++;
    ck_assert_msg(db_transaction(db, text_body, (void *)(uintptr_t)text->sql, &err) == 0, "%s",
                  err.message);
}

/* On either engine. */
START_TEST(metadata_get_the_project_and_creation_time_of_their_object) {
    struct db *db = scratch_open(database_url(), true);

    sql_run(db,
            "INSERT INTO volumes (id, project_id, user_id, availability_zone, size_gb, "
            "largest_gb, status, status_by_reset, attach_status, bootable, multiattach, "
            "use_quota, created_at) VALUES ('v', 'p', 'u', 'z', 1, 1, 'available', 0, "
            "'detached', 0, 0, 1, 7), ('w', 'q', 'u', 'z', 1, 1, 'available', 0, 'detached', 0, "
            "0, 1, 8)");
    sql_run(db, "INSERT INTO snapshots (id, volume_id, project_id, user_id, size_gb, status, "
                "status_by_reset, use_quota, counted_gb, delete_begun, asked_us, created_at) "
                "VALUES ('s', 'v', 'p', 'u', 1, 'available', 0, 1, 1, 0, 1, 9)");
    make_metadata_old(db);
    sql_run(db,
            "INSERT INTO volume_metadata VALUES ('v', 'k', 'x'), ('v', 'l', 'y'), ('w', 'k', 'x')");
    sql_run(db, "INSERT INTO snapshot_metadata VALUES ('s', 'k', 'x')");
    run_text(db, 21);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volume_metadata"), 3);
    ck_assert_int_eq(sql_int(db, "SELECT created_at FROM volume_metadata "
                                 "WHERE key = 'k' AND value = 'x' AND project_id = 'q'"),
                     8);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volume_metadata "
                                 "WHERE volume_id = 'v' AND project_id = 'p' AND created_at = 7"),
                     2);
    ck_assert_int_eq(sql_int(db, "SELECT created_at FROM snapshot_metadata "
                                 "WHERE key = 'k' AND value = 'x' AND project_id = 'p'"),
                     9);
    sql_refused(db, "INSERT INTO volume_metadata VALUES ('none', 'k', 'x', 'p', 1)");
    db_close(db);
}
END_TEST

/* On either engine. */
START_TEST(documents_that_are_there_are_counted_in_bytes) {
    struct db *db = scratch_open(database_url(), true);

    sql_run(db, "DROP INDEX document_counts_by_project");
    sql_run(db, "ALTER TABLE documents DROP COLUMN bytes");
    sql_run(db, "ALTER TABLE document_counts DROP COLUMN bytes");
    sql_run(db, "INSERT INTO documents (id, kind, project_id, name, version, first_version, "
                "generation, metadata, body, status, created_at) VALUES "
                "('a', 'CStorVolumePolicy', 'p', 'a', 1, 1, 1, '{}', '{\"a\":1}', '{}', 1), "
                "('b', 'CStorVolumePolicy', 'p', 'b', 2, 2, 1, '{}', '{\"b\":12}', '{}', 1), "
                "('c', 'CStorVolumePolicy', 'q', 'c', 3, 3, 1, '{}', '{}', '{}', 1), "
                "('d', 'CStorVolume', 'p', 'd', 4, 4, 1, '{}', '{}', '{}', 1)");
    sql_run(db, "INSERT INTO document_counts VALUES ('CStorVolumePolicy', 'p', 2), "
                "('CStorVolumePolicy', 'q', 1), ('CStorVolume', 'p', 1), "
                "('CStorVolumeConfig', 'q', 0)");
    run_text(db, 38);
    ck_assert_int_eq(sql_int(db, "SELECT bytes FROM documents WHERE id = 'b'"), 10);
    ck_assert_int_eq(sql_int(db, "SELECT bytes FROM documents WHERE id = 'd'"), 0);
    ck_assert_int_eq(sql_int(db, "SELECT bytes FROM document_counts WHERE "
                                 "kind = 'CStorVolumePolicy' AND project_id = 'p'"),
                     19);
    ck_assert_int_eq(sql_int(db, "SELECT bytes FROM document_counts WHERE "
                                 "kind = 'CStorVolumePolicy' AND project_id = 'q'"),
                     4);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM document_counts WHERE bytes = 0"), 2);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM document_counts WHERE documents > 0"), 3);
    db_close(db);
}
END_TEST

/* On either engine. */
START_TEST(replicas_that_are_there_are_found_by_their_pool) {
    struct db *db = scratch_open(database_url(), true);

    sql_run(db, "DROP INDEX documents_by_pool");
    sql_run(db, "ALTER TABLE documents DROP COLUMN pool");
    sql_run(db, "INSERT INTO replica_pools (name, node, path, labels, read_only, total_bytes, "
                "free_bytes, state, seen_at, created_at) VALUES "
                "('pool', 'h', '/p', '{}', 0, 1, 1, 'Online', 1, 1), "
                "('pool-a', 'h', '/a', '{}', 0, 1, 1, 'Online', 1, 1)");
    sql_run(db, "INSERT INTO documents (id, kind, project_id, name, version, first_version, "
                "generation, metadata, body, status, created_at) VALUES "
                "('a', 'CStorVolumeReplica', 'p', 'a', 1, 1, 1, '{}', "
                "'{\"spec\":{\"poolName\":\"pool-a\"}}', '{}', 1), "
                "('v', 'CStorVolume', 'p', 'v', 2, 2, 1, '{}', "
                "'{\"spec\":{\"poolName\":\"pool-a\"}}', '{}', 1)");
    run_text(db, 51);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM documents WHERE pool = 'pool-a'"), 1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM documents WHERE pool = 'pool'"), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM documents WHERE pool IS NULL"), 1);
    db_close(db);
}
END_TEST

/* On either engine. */
START_TEST(turns_without_a_waiting_operation_are_deleted) {
    struct db *db = scratch_open(database_url(), true);

    sql_run(db, "INSERT INTO operations (id, volume_id, target_id, kind, phase, host, project_id, "
                "user_id, request_id, arguments, attempts, created_at, updated_at) VALUES "
                "('a', 'v', 'v', 'k', 'answered', 'h', 'p', 'u', 'r', '{}', 0, 1, 1), "
                "('q', 'w', 'w', 'k', 'queued', 'h', 'p', 'u', 'r', '{}', 0, 1, 1), "
                "('c', 'x', 'c', 'k', 'cancelled', 'h', 'p', 'u', 'r', '{}', 0, 1, 1)");
    sql_run(db, "INSERT INTO operation_turns VALUES ('a', 'v', 0), ('gone', 'v', 1), "
                "('q', 'v', 0), ('q', 'w', 1), ('c', 'x', 0)");
    run_text(db, 39);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM operation_turns"), 3);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM operation_turns WHERE operation_id = 'q'"),
                     2);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM operation_turns WHERE operation_id = 'c'"),
                     1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM operations"), 3);
    db_close(db);
}
END_TEST

/* On either engine. */
START_TEST(snapshots_that_are_there_are_promised_space) {
    struct db *db = scratch_open(database_url(), true);

    sql_run(db, "ALTER TABLE snapshots DROP COLUMN promised_gb");
    sql_run(db, "ALTER TABLE pools DROP COLUMN snapshots_gb");
    sql_run(db, "INSERT INTO pools (name, host, capabilities, infinite, allocated_gb, reported_at) "
                "VALUES ('h#p', 'h', '{}', 0, 5, 1), ('h#q', 'h', '{}', 0, 0, 1)");
    sql_run(db, "INSERT INTO volumes (id, project_id, user_id, host, availability_zone, "
                "size_gb, largest_gb, status, status_by_reset, attach_status, bootable, "
                "multiattach, use_quota, created_at) VALUES ('v', 'p', 'u', 'h#p', 'nova', 5, 5, "
                "'available', 0, 'detached', 0, 0, 1, 1)");
    sql_run(db, "INSERT INTO snapshots (id, volume_id, project_id, user_id, size_gb, status, "
                "status_by_reset, use_quota, counted_gb, delete_begun, asked_us, created_at) "
                "VALUES ('s', 'v', 'p', 'u', 3, 'available', 0, 1, 3, 0, 1, 1), "
                "('t', 'v', 'p', 'u', 5, 'error', 0, 1, 5, 0, 2, 1)");
    run_text(db, 42);
    ck_assert_int_eq(sql_int(db, "SELECT promised_gb FROM snapshots WHERE id = 's'"), 3);
    ck_assert_int_eq(sql_int(db, "SELECT snapshots_gb FROM pools WHERE name = 'h#p'"), 8);
    ck_assert_int_eq(sql_int(db, "SELECT snapshots_gb FROM pools WHERE name = 'h#q'"), 0);
    db_close(db);
}
END_TEST

/* On either engine. */
START_TEST(volumes_that_a_host_may_have_open_have_a_connection_after_an_upgrade) {
    static const struct {
        const char *status, *attach_status; /* NULL: it has no attachment */
        int connections;
    } cases[] = {
        { "attaching", NULL, 1 },       { "in-use", NULL, 1 },
        { "detaching", NULL, 1 },       { "available", NULL, 0 },
        { "in-use", "attached", 0 },    { "attaching", "attaching", 0 },
        { "attaching", "detached", 1 }, { "reserved", "reserved", 0 },
    };
    struct db *db = scratch_open(database_url(), true);
    char sql[512];

    for (size_t i = 0; i < LENGTH(cases); i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO volumes (id, project_id, user_id, availability_zone, size_gb, "
                 "largest_gb, status, status_by_reset, attach_status, bootable, multiattach, "
                 "use_quota, created_at) VALUES ('v%zu', 'p', 'u', 'nova', 5, 5, '%s', 0, "
                 "'detached', 0, 0, 1, 1)",
                 i, cases[i].status);
        sql_run(db, sql);
        if (!cases[i].attach_status)
            continue;
        snprintf(sql, sizeof sql,
                 "INSERT INTO attachments (id, volume_id, project_id, attach_status, created_at) "
                 "VALUES ('a%zu', 'v%zu', 'p', '%s', 1)",
                 i, i, cases[i].attach_status);
        sql_run(db, sql);
    }
    run_text(db, 50);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM connections WHERE volume_id = 'v%zu'", i);
        ck_assert_msg(sql_int(db, sql) == cases[i].connections, "%s", cases[i].status);
    }
    run_text(db, 50); /* the existing one stays the only one */
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM connections WHERE volume_id = 'v0'"), 1);
    db_close(db);
}
END_TEST

/* ---- the baseline ---- */

/* Without comments, quotes, names of constraints and superfluous space: ALTER TABLE edits the text
 * of a table. */
static const char *sql_squeezed(struct arena *arena, const char *sql) {
    static const char naming[] = "CONSTRAINT ";
    char *text = arena_alloc(arena, strlen(sql) + 1), *to = text;
    bool space = false;

    while (*sql) {
        if (strncmp(sql, "--", 2) == 0) {
            sql += strcspn(sql, "\n");
        } else if (strncmp(sql, naming, strlen(naming)) == 0) {
            sql += strlen(naming);
            sql += strcspn(sql, " ");
        } else if (isspace((unsigned char)*sql) || *sql == '"') {
            space |= *sql++ != '"';
        } else {
            if (space && to > text && to[-1] != '(' && !strchr(",)", *sql))
                *to++ = ' ';
            space = false;
            *to++ = *sql++;
        }
    }
    *to = '\0';
    return text;
}

/* Indexes of a table in their order, by which SQLite decides between equal ones. */
static const char sqlite_catalog[] =
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' "
    "ORDER BY tbl_name, rowid";

static const char postgresql_catalog[] =
    "SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), "
    "a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid), "
    "ROW_NUMBER() OVER (PARTITION BY c.oid ORDER BY a.attnum)) "
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
    "WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind IN ('r', 'S') "
    "AND a.attnum > 0 AND NOT a.attisdropped UNION ALL "
    "SELECT concat_ws(' ', CAST(conrelid AS regclass), conname, pg_get_constraintdef(oid)) "
    "FROM pg_constraint WHERE contype <> 'n' "
    "AND connamespace = CAST(current_schema() AS regnamespace) UNION ALL "
    "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() UNION ALL "
    "SELECT concat_ws(' ', viewname, definition) FROM pg_views "
    "WHERE schemaname = current_schema() ORDER BY 1";

struct schema_found {
    struct arena *arena;
    const char *text;
};

static void found_add(struct schema_found *found, const char *line) {
    found->text = arena_join(found->arena, found->text, line, "\n", NULL);
}

static void row_describe(const struct db_rows *rows, const char *line, struct schema_found *found) {

    for (unsigned i = 0; i < db_columns(rows); i++)
        line = arena_format(found->arena, "%s %s", line,
                            db_is_null(rows, i) ? "NULL" : db_text(rows, i));
    found_add(found, line);
}

static int rows_of_table(struct db_tx *tx, const char *name, struct schema_found *found,
                         struct error *err) {
    const char *sql = arena_format(found->arena, "SELECT * FROM %s ORDER BY 1", name);
    autorows struct db_rows *rows = db_query(tx, err, sql);
    int more = rows ? 0 : -1;

    while (rows && (more = db_next(rows, err)) > 0)
        row_describe(rows, name, found);
    return more;
}

/* Of an empty schema; the clock's row is the engine's. */
static int rows_describe(struct db_tx *tx, struct schema_found *found, struct error *err) {
    struct tables tables;

    if (tables_read(tx, found->arena, &tables, err) < 0)
        return -1;
    for (unsigned i = 0; i < tables.count; i++)
        if (strcmp(tables.names[i], "clock") != 0 &&
            rows_of_table(tx, tables.names[i], found, err) < 0)
            return -1;
    return 0;
}

static int catalog_describe(struct db_tx *tx, struct schema_found *found, struct error *err) {
    autorows struct db_rows *rows =
        db_query(tx, err, tx->engine == &sqlite_engine ? sqlite_catalog : postgresql_catalog);
    int more = rows ? 0 : -1;

    found->text = "";
    while (rows && (more = db_next(rows, err)) > 0)
        found_add(found, sql_squeezed(found->arena, db_text(rows, 0)));
    return more;
}

static int schema_describe(struct db_tx *tx, void *found, struct error *err) {
    return catalog_describe(tx, found, err) < 0 ? -1 : rows_describe(tx, found, err);
}

static int schema_drop(struct db_tx *tx, struct arena *arena, struct error *err) {
    struct tables tables;

    if (tables_read(tx, arena, &tables, err) < 0 || db_run(tx, err, "DROP VIEW clock_seen") < 0)
        return -1;
    while (tables.count-- > 0)
        if (strncmp(tables.names[tables.count], "sqlite_", 7) != 0 &&
            db_run(tx, err, arena_format(arena, "DROP TABLE %s", tables.names[tables.count])) < 0)
            return -1;
    return 0;
}

static int steps_replay(struct db_tx *tx, void *arg, struct error *err) {
    const struct migrate_settings settings = { .serial_words = tx->engine->serial_words };

    if (schema_drop(tx, arg, err) < 0 ||
        migrate_text(tx, schema_texts[0].sql, settings.serial_words, err) < 0 ||
        db_run(tx, err, "CREATE TABLE schema_version (number BIGINT NOT NULL)") < 0 ||
        db_run(tx, err, "INSERT INTO schema_version (number) VALUES (1)") < 0)
        return -1;
    return migrate_run(tx, &settings, err);
}

/* On either engine. */
START_TEST(an_empty_database_gets_the_schema_that_all_steps_make) {
    autoarena struct arena *arena = arena_new();
    struct schema_found empty = { .arena = arena }, replayed = { .arena = arena };
    struct db *db = scratch_open(database_url(), true);
    struct error err = { 0 };

    ck_assert_int_eq(db_read(db, schema_describe, &empty, &err), 0);
    ck_assert_msg(db_transaction(db, steps_replay, arena, &err) == 0, "%s", err.message);
    ck_assert_int_eq(db_read(db, schema_describe, &replayed, &err), 0);
    ck_assert_str_eq(empty.text, replayed.text);
    assert_part(empty.text, "\ndocument_versions 0\n");
    db_close(db);
}
END_TEST

/* The file of the first is that of the image, in memory the statements run. */
START_TEST(a_new_file_has_the_schema_and_rows_of_the_statements) {
    autoarena struct arena *arena = arena_new();
    struct schema_found made = { .arena = arena }, run = { .arena = arena };
    struct db *file, *memory = scratch_open("sqlite://", true);
    autoscratch struct scratch scratch;
    struct error err = { 0 };

    scratch_make(&scratch);
    file = scratch_open(scratch.url, true);
    ck_assert_int_eq(db_read(file, schema_describe, &made, &err), 0);
    ck_assert_int_eq(db_read(memory, schema_describe, &run, &err), 0);
    ck_assert_str_eq(made.text, run.text);
    ck_assert_int_eq(sql_int(file, "SELECT COUNT(*) FROM pragma_integrity_check "
                                   "WHERE integrity_check = 'ok'"),
                     1);
    db_close(file);
    db_close(memory);
}
END_TEST

START_TEST(a_foreign_schema_version_is_an_error) {
    struct db *db = scratch_open("sqlite://", true);
    struct error err = { 0 };

    sql_run(db, "DROP TABLE schema_version");
    sql_run(db, "CREATE VIEW schema_version AS SELECT 0 AS number");
    ck_assert_int_eq(db_transaction(db, migrate_body, serial_words, &err), -1);
    sql_run(db, "DROP VIEW schema_version");
    sql_run(db, "CREATE TABLE schema_version (name TEXT)");
    ck_assert_int_eq(db_transaction(db, migrate_body, serial_words, &err), -1);
    sql_run(db, "DROP TABLE schema_version");
    sql_run(db, "CREATE INDEX schema_version ON pools (name)");
    ck_assert_int_eq(db_transaction(db, migrate_body, serial_words, &err), -1);
    db_close(db);
}
END_TEST

CHECK_MAIN(
    "migrate", volumes_that_a_host_may_have_open_have_a_connection_after_an_upgrade,
    a_database_that_cannot_be_opened_is_named_once, texts_are_in_the_order_of_their_numbers,
    a_new_database_gets_every_text_once, an_older_database_keeps_its_rows_and_gets_new_columns,
    documents_that_are_there_are_counted_in_bytes, replicas_that_are_there_are_found_by_their_pool,
    turns_without_a_waiting_operation_are_deleted, snapshots_that_are_there_are_promised_space,
    a_migration_keeps_a_copy_of_the_database_before, a_new_database_has_no_copy,
    without_space_for_a_copy_nothing_is_migrated, the_space_for_a_copy_is_that_of_its_directory,
    a_database_that_was_opened_to_read_is_changed_by_nothing,
    other_schemas_are_left_as_they_are_by_reading, a_database_that_cannot_be_changed_stays_as_it_is,
    a_newer_schema_is_refused_with_the_path,
    tables_of_another_program_are_refused_and_get_none_beside,
    the_file_of_another_program_is_left_as_it_is, no_log_is_left_beside_the_file_of_another_program,
    all_files_of_another_program_stay_as_they_are, a_text_that_fails_is_named_and_nothing_stays,
    a_text_is_cut_at_the_ends_of_its_statements,
    metadata_get_the_project_and_creation_time_of_their_object,
    an_empty_database_gets_the_schema_that_all_steps_make,
    a_new_file_has_the_schema_and_rows_of_the_statements, a_foreign_schema_version_is_an_error)

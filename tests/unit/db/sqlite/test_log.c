/*
 * Flushes that fail and lose.  Between SQLite and the kernel stands a disk that remembers, page by
 * page, the content that a flush has brought to it.  One that fails forgets its pages, as the
 * kernel does, and with the power goes all that was not flushed.
 *
 * The programs are children that kill themselves; disk and confirmations outlive them in shared
 * memory.
 *
 * The functions below stand before those of the C library because the program defines them itself.
 */
#include "tests/unit/db/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 1024, ROWS = 400, WRITES_MOST = 20, FLUSHES_MOST = 300 };

struct disk_file {
    bool named; /* its name in the directory is on the disk */
    bool dirty[PAGES];
    off_t size;
    unsigned char bytes[PAGES * PAGE];
};

static const char *const names[] = { "db", "db-wal", "#" };
enum { UNNAMED = 2 }; /* its path is "DIRECTORY/#INODE (deleted)" */

/* In shared memory. */
static struct world {
    bool watching;
    char directory[32];
    struct disk_file files[3];
    int countdown; /* the n-th flush from now fails */
    int written;   /* the n-th write of the log from now fails, half done */
    int log_writes;
    bool fails_always; /* from then on */
    bool drops_cache;  /* forgotten pages cannot be read any more, either */
    int reach;         /* so many failing flushes have brought all to the disk before they fail */
    atomic_int failed; /* flushes */
    enum answer { UNASKED, REQUESTED, REFUSED, ANSWERED, ANSWERED_UNSYNCED } answers[ROWS];
} * world;

static struct disk_file *file_of_path(const char *path) {
    const char *name = strrchr(path, '/');

    for (size_t i = 0; world && world->watching && name && i < LENGTH(names); i++)
        if ((i == UNNAMED ? name[1] == '#' : strcmp(name + 1, names[i]) == 0) &&
            strncmp(path, world->directory, strlen(world->directory)) == 0)
            return &world->files[i];
    return NULL;
}

static struct disk_file *file_of(int fd, char *path, size_t size) {
    char link[32];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = '\0';
    return file_of_path(path);
}

static void file_write(const struct disk_file *file, const char *path) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(syscall(SYS_pwrite64, fd, file->bytes, (size_t)file->size, 0L), file->size);
    ck_assert_int_eq(syscall(SYS_ftruncate, fd, file->size), 0);
    close(fd);
}

/* The pages that were written since the last flush come to the disk, or nowhere. */
static int file_flush(struct disk_file *file, int fd, const char *path, bool fails) {
    struct stat status;

    bool reaches = !fails || world->reach > 0;

    world->reach -= fails && reaches;
    if (fstat(fd, &status) == 0 && reaches)
        file->size = status.st_size;
    ck_assert_int_le(file->size, sizeof(file->bytes));
    for (size_t i = 0; i < PAGES; i++) {
        if (file->dirty[i] && reaches)
            (void)!syscall(SYS_pread64, fd, file->bytes + i * PAGE, (size_t)PAGE, (long)i * PAGE);
        file->dirty[i] = false;
    }
    if (fails && world->drops_cache)
        file_write(file, path);
    return fails ? -1 : 0;
}

static void directory_flushed(void) {
    for (size_t i = 0; i < LENGTH(names); i++) {
        char path[64];

        snprintf(path, sizeof(path), "%s/%s", world->directory, names[i]);
        world->files[i].named = access(path, F_OK) == 0;
    }
}

static int flush(int fd) {
    char path[256];
    struct disk_file *file = file_of(fd, path, sizeof(path));
    bool directory = world && world->watching && strcmp(path, world->directory) == 0;
    bool fails = (file || directory) &&
                 (world->countdown > 0 ? --world->countdown == 0
                                       : world->fails_always && atomic_load(&world->failed) > 0);

    if (file && file_flush(file, fd, path, fails) < 0)
        errno = EIO;
    if (directory && !fails)
        directory_flushed();
    if (!fails)
        return 0;
    atomic_fetch_add(&world->failed, 1);
    errno = EIO;
    return -1;
}

static ssize_t write_at(int fd, const void *bytes, size_t size, off_t at) {
    char path[256];
    struct disk_file *file = file_of(fd, path, sizeof(path));
    bool logs = file && file == &world->files[1];
    bool fails = logs && world->written > 0 && --world->written == 0;
    ssize_t written = syscall(SYS_pwrite64, fd, bytes, fails ? size / 2 : size, at);

    world->log_writes += logs;
    for (off_t i = at / PAGE; file && written > 0 && i <= (at + written - 1) / PAGE; i++)
        file->dirty[i] = true;
    if (fails)
        errno = EIO;
    return fails ? -1 : written;
}

/* clang-format off */
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return write_at(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at) { return write_at(fd, bytes, size, at); }
int fsync(int fd) { return flush(fd); }
int fdatasync(int fd) { return flush(fd); }
/* clang-format on */

int unlink(const char *path) {
    struct disk_file *file = file_of_path(path);

    if (file) {
        memset(file->dirty, 0, sizeof(file->dirty));
        file->named = false;
        file->size = 0;
    }
    return unlinkat(AT_FDCWD, path, 0);
}

/* With the pages that are on the disk, and those that are not. */
int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    struct disk_file *file = file_of_path(to);
    int result = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);

    if (result == 0 && file)
        memcpy(file, &world->files[UNNAMED], sizeof(*file));
    return result;
}

/* ---- the world ---- */

static void world_make(struct scratch *scratch) {
    if (!world) {
        world =
            mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(world, MAP_FAILED);
    }
    for (size_t i = 0; i < LENGTH(names); i++) {
        world->files[i].named = false;
        world->files[i].size = 0;
        memset(world->files[i].dirty, 0, sizeof(world->files[i].dirty));
    }
    world->countdown = world->written = 0;
    world->fails_always = world->drops_cache = false;
    atomic_store(&world->failed, 0);
    memset(world->answers, 0, sizeof(world->answers));
    scratch_make(scratch);
    strcpy(world->directory, scratch->directory);
    world->watching = true;
}

static void power_fail(const struct scratch *scratch) {
    char path[64];

    for (size_t i = 0; i < LENGTH(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", scratch->directory, names[i]);
        unlinkat(AT_FDCWD, path, 0);
        if (world->files[i].named)
            file_write(&world->files[i], path);
        memset(world->files[i].dirty, 0, sizeof(world->files[i].dirty));
    }
    snprintf(path, sizeof(path), "%s-shm", scratch->path);
    unlinkat(AT_FDCWD, path, 0);
}

/* ---- programs ---- */

static int insert_body(struct db_tx *tx, void *arg, struct error *err) {
    return db_run(tx, err, "INSERT INTO item (id, value) VALUES ($1, hex(zeroblob(1500)))",
                  DB_INT(*(const int *)arg));
}

static void insert(struct db *db, int id, bool unsynced) {
    struct error err;

    world->answers[id] = REQUESTED;
    if ((unsynced ? db_transaction_unsynced : db_transaction)(db, insert_body, &id, &err) < 0)
        world->answers[id] = REFUSED;
    else
        world->answers[id] = unsynced ? ANSWERED_UNSYNCED : ANSWERED;
}

static struct db *program_open(const struct scratch *scratch) {
    struct db_settings settings = { .url = scratch->url, .inline_writes = true };
    struct error err;
    struct db *db;

    return db_open(&settings, &db, &err) == 0 ? db : NULL;
}

/* Every second row need not be on disk. */
static void program_write(const struct scratch *scratch, int from, int to) {
    struct db *db = program_open(scratch);

    for (int id = from; db && id < to; id++)
        insert(db, id, id % 2 == 1);
}

static void program_write_and_close(const struct scratch *scratch, int from, int to) {
    struct db *db = program_open(scratch);

    for (int id = from; db && id < to; id++)
        insert(db, id, id % 2 == 1);
    db_close(db);
}

typedef void program(const struct scratch *scratch, int from, int to);

/* Runs it until it has killed itself, or has stopped because its log is gone. */
static void run(program *code, const struct scratch *scratch, int from, int to) {
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const struct rlimit no_core = { 0, 0 };
        int null = open("/dev/null", O_WRONLY);

        setrlimit(RLIMIT_CORE, &no_core);
        dup2(null, 2);
        code(scratch, from, to);
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_msg(WTERMSIG(status) == SIGKILL ||
                      (WTERMSIG(status) == SIGABRT && world->drops_cache),
                  "signal %d", WTERMSIG(status));
}

/* Confirmed rows are there, and refused ones are not. */
static void check_rows(const struct scratch *scratch, bool refused_too) {
    struct db *db = scratch_open(scratch->url, true);

    for (int id = 0; id < ROWS; id++) {
        char sql[80];
        int64_t found;

        if (world->answers[id] == UNASKED)
            continue;
        snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM item WHERE id = %d", id);
        found = sql_int(db, sql);
        ck_assert_msg(world->answers[id] != ANSWERED || found == 1, "row %d is lost", id);
        ck_assert_msg(world->answers[id] != REFUSED || !refused_too || found == 0,
                      "row %d was refused", id);
    }
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM pragma_integrity_check "
                                 "WHERE integrity_check <> 'ok'"),
                     0);
    db_close(db);
}

static void prepare(struct scratch *scratch) {
    struct db *db;

    world_make(scratch);
    db = scratch_open(scratch->url, true);
    sql_run(db, "CREATE TABLE item (id BIGINT PRIMARY KEY, value TEXT)");
    db_close(db);
}

/* ---- tests ---- */

/* Writes, closes, opens again and writes, and dies; the n-th flush of all that fails. */
static bool try_nth(int n, bool drops_cache, bool loses_power_between) {
    autoscratch struct scratch scratch;
    bool reached;

    prepare(&scratch);
    world->drops_cache = drops_cache;
    world->countdown = n;
    run(program_write, &scratch, 0, 9);
    if (loses_power_between)
        power_fail(&scratch);
    run(program_write_and_close, &scratch, 9, 13);
    run(program_write, &scratch, 13, 20);
    reached = world->countdown == 0;
    ck_assert_int_eq(atomic_load(&world->failed), reached);
    world->countdown = 0;
    run(program_write, &scratch, 20, 30);
    check_rows(&scratch, true);
    power_fail(&scratch);
    check_rows(&scratch, true);
    return reached;
}

START_TEST(a_failed_flush_loses_no_confirmed_commit) {
    for (int variant = 0; variant < 4; variant++) {
        int n = 1 + (int)WALK_FIRST;

        for (; try_nth(n, variant & 1, variant & 2); n += (int)WALK_STEP)
            ck_assert_int_lt(n, FLUSHES_MOST);
        ck_assert_int_gt(n, 20);
    }
}
END_TEST

/* The power fails at once, before anything else is written. */
START_TEST(confirmed_commits_depend_on_no_later_flush) {
    for (int n = 1; n < 12; n++) {
        autoscratch struct scratch scratch;

        prepare(&scratch);
        world->countdown = n;
        run(program_write, &scratch, 0, 20);
        ck_assert_int_eq(atomic_load(&world->failed), 1);
        power_fail(&scratch);
        check_rows(&scratch, false);
    }
}
END_TEST

/* So many unsynced rows that the writer copies them to the file: the first flush of all. */
static void program_copy(const struct scratch *scratch, int from, int to) {
    const struct timespec moment = { .tv_nsec = 10000000 };
    struct db *db = scratch_open(scratch->url, false);

    for (int id = from; id < to; id++)
        insert(db, id, true);
    world->countdown = 1;
    while (atomic_load(&world->failed) == 0)
        nanosleep(&moment, NULL);
    insert(db, to, false);
    insert(db, to + 1, true);
    insert(db, to + 2, false);
}

START_TEST(a_copy_to_the_file_that_cannot_flush_loses_nothing) {
    autoscratch struct scratch scratch;

    prepare(&scratch);
    run(program_copy, &scratch, 0, 250);
    ck_assert_int_eq(world->answers[250], ANSWERED);
    ck_assert_int_eq(world->answers[252], ANSWERED);
    power_fail(&scratch);
    for (int id = 0; id < 252; id++) /* repaired pages are on the disk with the rest */
        world->answers[id] = ANSWERED;
    check_rows(&scratch, true);
}
END_TEST

static void program_stubborn(const struct scratch *scratch, int from, int to) {
    struct db *db = scratch_open(scratch->url, true);

    world->fails_always = true;
    world->countdown = 1;
    for (int id = from; id < to; id++)
        insert(db, id, id % 2 == 1);
    world->answers[to] = sql_int(db, "SELECT COUNT(*) FROM item") == 0 ? ANSWERED : REFUSED;
    world->fails_always = false;
    insert(db, to, false);
}

START_TEST(no_commit_is_confirmed_while_the_disk_fails) {
    autoscratch struct scratch scratch;

    prepare(&scratch);
    run(program_stubborn, &scratch, 0, 10);
    for (int id = 0; id < 10; id++)
        ck_assert_int_eq(world->answers[id], REFUSED);
    ck_assert_int_eq(world->answers[10], ANSWERED);
    power_fail(&scratch);
    check_rows(&scratch, true);
}
END_TEST

static int refuse_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)tx;
    (void)arg;
    return error_set(err, ERROR_BAD_REQUEST, "refused");
}

static void program_emptied(const struct scratch *scratch, int from, int to) {
    struct db *db = scratch_open(scratch->url, true);
    struct error err;

    (void)to;
    world->fails_always = true;
    world->countdown = 2; /* behind that of the header */
    world->reach = 1;
    insert(db, from, false);
    world->fails_always = false;
    world->answers[from + 1] = db_transaction(db, refuse_body, NULL, &err) < 0 ? REFUSED : ANSWERED;
}

/* The log is emptied after a commit that failed, and that is on the disk before it counts. */
START_TEST(a_failed_commit_does_not_reappear) {
    autoscratch struct scratch scratch;

    prepare(&scratch);
    run(program_emptied, &scratch, 0, 2);
    ck_assert_int_eq(world->answers[0], REFUSED);
    power_fail(&scratch);
    check_rows(&scratch, true);
}
END_TEST

/* Closing copies the log to the file, and a file that is newer than its log is of no use. */
static void program_close_in_doubt(const struct scratch *scratch, int from, int to) {
    struct db *db = scratch_open(scratch->url, true);

    world->fails_always = true;
    world->countdown = to / 2;
    for (int id = from; id < to; id++)
        insert(db, id, id % 2 == 1);
    db_close(db);
}

START_TEST(a_program_that_ends_in_doubt_leaves_the_file_as_it_is) {
    autoscratch struct scratch scratch;

    prepare(&scratch);
    run(program_close_in_doubt, &scratch, 0, 40);
    world->fails_always = false;
    power_fail(&scratch);
    check_rows(&scratch, false);
}
END_TEST

/* Two programs share the file; one of them meets the failure, and the other goes on. */
START_TEST(another_program_sees_no_difference) {
    autoscratch struct scratch scratch;
    struct db *other;

    prepare(&scratch);
    other = scratch_open(scratch.url, true);
    insert(other, 100, true);
    world->countdown = 5;
    run(program_write, &scratch, 0, 20);
    ck_assert_int_eq(atomic_load(&world->failed), 1);
    for (int id = 101; id < 120; id++)
        insert(other, id, id % 2 == 1);
    ck_assert_int_eq(world->answers[118], ANSWERED);
    power_fail(&scratch);
    check_rows(&scratch, true);
    db_close(other);
}
END_TEST

static int fill_body(struct db_tx *tx, void *arg, struct error *err) {
    return db_run(tx, err, "INSERT INTO item (id, value) VALUES ($1, hex(zeroblob(60000)))",
                  DB_INT(*(const int *)arg));
}

/* Of 30 pages, which are several writes. */
static void fill(struct db *db, int id) {
    struct error err;

    world->answers[id] = db_transaction(db, fill_body, &id, &err) < 0 ? REFUSED : ANSWERED;
}

/* The next commit, of another program, is at the same place in the log. */
static bool try_nth_write(int n) {
    autoscratch struct scratch scratch;
    struct db *db, *other;
    bool reached;

    prepare(&scratch);
    db = scratch_open(scratch.url, true);
    other = scratch_open(scratch.url, true);
    insert(db, 0, false);
    world->written = n;
    fill(db, 1);
    reached = world->written == 0;
    world->written = 0;
    ck_assert_int_eq(world->answers[1], reached ? REFUSED : ANSWERED);
    insert(other, 2, false);
    check_rows(&scratch, true);
    insert(db, 3, true);
    insert(other, 4, false);
    ck_assert_int_eq(world->answers[4], ANSWERED);
    power_fail(&scratch);
    check_rows(&scratch, true);
    db_close(other);
    db_close(db);
    return reached;
}

START_TEST(a_commit_that_cannot_be_written_leaves_nothing) {
    int n = 1;

    while (try_nth_write(n))
        ck_assert_int_lt(++n, WRITES_MOST);
    ck_assert_int_gt(n, 2);
}
END_TEST

START_TEST(pages_of_a_commit_are_written_together) {
    autoscratch struct scratch scratch;
    struct db *db;

    prepare(&scratch);
    db = scratch_open(scratch.url, true);
    insert(db, 0, false);
    world->log_writes = 0;
    fill(db, 1);
    ck_assert_int_le(world->log_writes, 4);
    insert(db, 2, true);
    ck_assert_int_le(world->log_writes, 5);
    db_close(db);
}
END_TEST

CHECK_MAIN("db/sqlite_log", a_failed_flush_loses_no_confirmed_commit,
           confirmed_commits_depend_on_no_later_flush,
           a_copy_to_the_file_that_cannot_flush_loses_nothing,
           no_commit_is_confirmed_while_the_disk_fails, a_failed_commit_does_not_reappear,
           a_program_that_ends_in_doubt_leaves_the_file_as_it_is,
           another_program_sees_no_difference, a_commit_that_cannot_be_written_leaves_nothing,
           pages_of_a_commit_are_written_together)

/*
 * Common to the tests of db/ and rpc/: a database file in a directory of its own, and short ways to
 * run one statement.  All of it asserts that it worked.
 */
#pragma once

#include "db/db.h"
#include "tests/lib/check_main.h"
#include "tests/lib/postgresql.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct scratch {
    char directory[32];
    char path[48];
    char url[512];
};

static inline void scratch_make(struct scratch *scratch) {
    strcpy(scratch->directory, "/tmp/scoria-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch->directory));
    snprintf(scratch->path, sizeof(scratch->path), "%s/db", scratch->directory);
    snprintf(scratch->url, sizeof(scratch->url), "sqlite://%s", scratch->path);
}

/* For a test of both engines: the URL is that of the one that is tested. */
static inline void scratch_make_tested(struct scratch *scratch) {
    scratch_make(scratch);
    if (postgresql_given())
        snprintf(scratch->url, sizeof(scratch->url), "%s", database_url());
}

static inline void scratch_remove(struct scratch *scratch) {
    DIR *directory = opendir(scratch->directory);
    const struct dirent *entry;

    while ((entry = readdir(directory)))
        unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    ck_assert_int_eq(rmdir(scratch->directory), 0);
}
#define autoscratch __attribute__((cleanup(scratch_remove)))

static inline struct db *scratch_open(const char *url, bool inline_writes) {
    struct db_settings settings = { .url = url, .inline_writes = inline_writes };
    struct error err = { 0 };
    struct db *db = NULL;

    ck_assert_msg(db_open(&settings, &db, &err) == 0, "%s", err.message);
    return db;
}

static inline int sql_body(struct db_tx *tx, void *sql, struct error *err) {
    return db_run(tx, err, (const char *)sql);
}

/* Runs a constant text in a transaction of its own. */
static inline void sql_run(struct db *db, const char *sql) {
    struct error err = { 0 };

    ck_assert_msg(db_transaction(db, sql_body, (void *)(uintptr_t)sql, &err) >= 0, "%s",
                  err.message);
}

/* Runs it and expects a refusal. */
static inline enum error_kind sql_refused(struct db *db, const char *sql) {
    struct error err = { 0 };

    ck_assert_int_eq(db_transaction(db, sql_body, (void *)(uintptr_t)sql, &err), -1);
    ck_assert_str_ne(err.message, "");
    return err.kind;
}

struct sql_number {
    const char *sql;
    int64_t value;
};

static inline int sql_number_body(struct db_tx *tx, void *arg, struct error *err) {
    struct sql_number *number = arg;

    return db_query_int(tx, &number->value, err, number->sql);
}

static inline int64_t sql_int(struct db *db, const char *sql) {
    struct sql_number number = { .sql = sql };
    struct error err = { 0 };

    ck_assert_msg(db_read(db, sql_number_body, &number, &err) >= 0, "%s", err.message);
    return number.value;
}

/* Does the code die by abort()? It runs in a child. */
static inline bool dies(void (*code)(void)) {
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const struct rlimit no_core = { 0, 0 };
        int null = open("/dev/null", O_WRONLY);

        setrlimit(RLIMIT_CORE, &no_core);
        dup2(null, 2);
        code();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

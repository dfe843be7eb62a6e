#include "tests/lib/postgresql.h"

#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_POSTGRESQL
#include <libpq-fe.h>

bool postgresql_given(void) {
    return getenv("SCORIA_TEST_POSTGRESQL") != NULL;
}

void postgresql_sql(const char *sql) {
    PGconn *handle = PQconnectdb(getenv("SCORIA_TEST_POSTGRESQL"));
    PGresult *result = PQexec(handle, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        fprintf(stderr, "postgresql: %s: %s\n", sql, PQerrorMessage(handle));
        abort();
    }
    PQclear(result);
    PQfinish(handle);
}

char *postgresql_url(void) {
    static unsigned count;
    struct timespec now;
    char name[60], sql[80], *url;

    clock_gettime(CLOCK_REALTIME, &now); /* numbers of processes come again */
    snprintf(name, sizeof(name), "t%jd_%u_%ld", (intmax_t)getpid(), count++, now.tv_nsec);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", name);
    postgresql_sql(sql);
    if (asprintf(&url, "%s?options=-csearch_path%%3D%s", getenv("SCORIA_TEST_POSTGRESQL"), name) <
        0)
        abort();
    return url;
}
#else
bool postgresql_given(void) {
    return false;
}

void postgresql_sql(const char *sql) {
    (void)sql;
    abort();
}

char *postgresql_url(void) {
    abort();
}
#endif

const char *database_url(void) {
    enum { URLS_MOST = 64 };
    static char *urls[URLS_MOST];
    static unsigned count;

    if (!postgresql_given())
        return "sqlite://";
    if (count == URLS_MOST)
        abort();
    return urls[count++] = postgresql_url();
}

enum { SHARED_SIZE = 512 };
static char *shared; /* by the tests, each of which is a process */

__attribute__((constructor)) static void share_url(void) {
    shared = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
}

const char *database_shared_url(void) {
    const char *url = postgresql_given() && *shared ? shared : database_url();

    if (postgresql_given() && !*shared)
        snprintf(shared, SHARED_SIZE, "%s", url);
    return url;
}

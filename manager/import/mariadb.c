/*
 * MariaDB and MySQL, by libmariadb.so.3.  The functions below are its stable interface; all objects
 * of the library are opaque here, so that no header is needed to build.
 */
#include "manager/import/mariadb.h"

#include "common/cleanup.h"

#include <dlfcn.h>
#include <string.h>

#define FILE_NAME "libmariadb.so.3"

/* Numbers of enum mysql_option. */
enum {
    OPTION_CONNECT_TIMEOUT = 0,
    OPTION_CHARSET = 7,
    OPTION_PROTOCOL = 9,
    OPTION_READ_TIMEOUT = 11,
    OPTION_TLS_VERIFY = 21,
};

enum { PROTOCOL_TCP = 1 }; /* of enum mysql_protocol_type */

/* clang-format off */
#define FUNCTIONS(ONE)                                                                           \
    ONE(void *, init, (void *connection))                                                        \
    ONE(int, options, (void *connection, int option, const void *value))                         \
    ONE(int, ssl_set, (void *connection, const char *key, const char *cert, const char *ca,      \
                       const char *ca_directory, const char *cipher))                            \
    ONE(void *, real_connect, (void *connection, const char *host, const char *user,             \
                               const char *password, const char *database, unsigned port,        \
                               const char *unix_socket, unsigned long flags))                    \
    ONE(int, real_query, (void *connection, const char *sql, unsigned long length))              \
    ONE(void *, use_result, (void *connection))                                                  \
    ONE(unsigned, num_fields, (void *result))                                                    \
    ONE(char **, fetch_row, (void *result))                                                      \
    ONE(void, free_result, (void *result))                                                       \
    ONE(unsigned, errno, (void *connection))                                                     \
    ONE(const char *, error, (void *connection))                                                 \
    ONE(void, close, (void *connection))
/* clang-format on */

struct mariadb {
    void *connection;
#define MEMBER(type, name, parameters) type(*name##_call) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

/* The library stays loaded: the tool ends soon. */
static int load(struct mariadb *mariadb, struct error *err) {
    void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL), *found;

    if (!library)
        return error_set(err, ERROR_UNAVAILABLE,
                         "The client library of MariaDB cannot be loaded: %s", dlerror());
#define FIND(type, name, parameters)                                                      \
    found = dlsym(library, "mysql_" #name);                                               \
    if (!found)                                                                           \
        return error_set(err, ERROR_UNAVAILABLE, "%s has no mysql_%s", FILE_NAME, #name); \
    memcpy(&mariadb->name##_call, &found, sizeof found);
    FUNCTIONS(FIND)
#undef FIND
    return 0;
}

static int failed(const struct mariadb *mariadb, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "MariaDB: %s",
                     mariadb->error_call(mariadb->connection));
}

static int connect_to(struct mariadb *mariadb, const struct mariadb_address *address,
                      struct error *err) {
    static const unsigned connect_s = 10, read_s = 600, tcp = PROTOCOL_TCP;
    static const char yes = 1;

    mariadb->connection = mariadb->init_call(NULL);
    if (!mariadb->connection)
        return error_set(err, ERROR_UNAVAILABLE, "MariaDB: no memory for a connection");
    mariadb->options_call(mariadb->connection, OPTION_CONNECT_TIMEOUT, &connect_s);
    mariadb->options_call(mariadb->connection, OPTION_READ_TIMEOUT, &read_s);
    mariadb->options_call(mariadb->connection, OPTION_CHARSET, "utf8mb4");
    if (!address->unix_socket) /* or "localhost" is a socket */
        mariadb->options_call(mariadb->connection, OPTION_PROTOCOL, &tcp);
    /* For the library TLS is optional unless the certificate of the server is verified. */
    if (address->ssl_ca || address->ssl_cert) {
        mariadb->ssl_set_call(mariadb->connection, address->ssl_key, address->ssl_cert,
                              address->ssl_ca, NULL, NULL);
        mariadb->options_call(mariadb->connection, OPTION_TLS_VERIFY, &yes);
    }
    return mariadb->real_connect_call(mariadb->connection, address->host, address->user,
                                      address->password, address->database, address->port,
                                      address->unix_socket, 0)
               ? 0
               : failed(mariadb, err);
}

static int run(const struct mariadb *mariadb, const char *sql, struct error *err) {
    return mariadb->real_query_call(mariadb->connection, sql, strlen(sql)) == 0
               ? 0
               : failed(mariadb, err);
}

static int read_all(struct mariadb *mariadb, struct arena *arena, const char *const *queries,
                    size_t count, struct source_table *ret, struct error *err) {
    if (run(mariadb, "SET SESSION sql_mode = 'ANSI_QUOTES'", err) < 0 ||
        run(mariadb, "SET SESSION time_zone = '+00:00'", err) < 0 ||
        run(mariadb, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", err) < 0 ||
        run(mariadb, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        void *result;
        char **row;

        if (run(mariadb, queries[i], err) < 0)
            return -1;
        result = mariadb->use_result_call(mariadb->connection);
        if (!result)
            return failed(mariadb, err);
        ret[i] = (struct source_table){ .columns = mariadb->num_fields_call(result) };
        while ((row = mariadb->fetch_row_call(result)))
            source_table_add(arena, &ret[i], (const char *const *)row);
        mariadb->free_result_call(result);
        if (mariadb->errno_call(mariadb->connection))
            return failed(mariadb, err);
    }
    return 0;
}

int mariadb_read(struct arena *arena, const struct mariadb_address *address,
                 const char *const *queries, size_t count, struct source_table *ret,
                 struct error *err) {
    struct mariadb mariadb = { .connection = NULL };
    int result;

    if (load(&mariadb, err) < 0)
        return -1;
    result = connect_to(&mariadb, address, err);
    if (result == 0)
        result = read_all(&mariadb, arena, queries, count, ret, err);
    if (mariadb.connection)
        mariadb.close_call(mariadb.connection);
    return result;
}

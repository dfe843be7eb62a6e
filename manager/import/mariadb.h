/*
 * Reads a database of MariaDB or MySQL, by libmariadb.so.3, which is loaded then.
 */
#pragma once

#include "common/error.h"
#include "manager/import/source_table.h"

struct mariadb_address {
    const char *user, *password, *host, *database; /* NULL: not given */
    unsigned port;                                 /* 0: not given */
    const char *unix_socket, *ssl_ca, *ssl_cert, *ssl_key;
};

/* As source_read(), with the rows in the order of the queries. */
int mariadb_read(struct arena *arena, const struct mariadb_address *address,
                 const char *const *queries, size_t count, struct source_table *ret,
                 struct error *err);

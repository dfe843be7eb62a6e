#include "db/clock.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <stdio.h>
#include <string.h>

#define SERVER       "server"
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

struct row {
    char base[UUID_SIZE];
    int64_t ahead_us, told_us;
};

static int boot_id(char ret[UUID_SIZE], struct error *err) {
    autofile FILE *file = fopen(BOOT_ID_FILE, "re");
    char text[UUID_SIZE] = "";

    if (!file)
        return error_errno(err, ERROR_INTERNAL, BOOT_ID_FILE);
    return fgets(text, sizeof(text), file) && uuid_parse(text, ret)
               ? 0
               : error_set(err, ERROR_INTERNAL, BOOT_ID_FILE " holds no id");
}

/* 1 found, 0 there is no row yet. */
static int row_read(struct db_tx *tx, struct row *ret, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, "SELECT base, ahead_us, told_us FROM clock");
    int more = rows ? db_next(rows, err) : -1;

    if (more <= 0)
        return more;
    snprintf(ret->base, sizeof(ret->base), "%s", db_text(rows, 0));
    ret->ahead_us = db_int(rows, 1);
    ret->told_us = db_int(rows, 2);
    return 1;
}

static int row_replace(struct db_tx *tx, const struct row *row, struct error *err) {
    assert(row->base[0] && row->told_us > 0);
    if (db_run(tx, err, "DELETE FROM clock") < 0)
        return -1;
    return db_change(tx, err, "INSERT INTO clock (base, ahead_us, told_us) VALUES ($1, $2, $3)",
                     DB_TEXT(row->base), DB_INT(row->ahead_us), DB_INT(row->told_us));
}

/* The newest instant stored anywhere. */
static int newest(struct db_tx *tx, int64_t least_us, int64_t *ret_us, struct error *err) {
    int64_t seen_us = 0;

    if (db_query_int(tx, &seen_us, err, "SELECT MAX(seen_us) FROM clock_seen") < 0)
        return -1;
    *ret_us = (seen_us > least_us ? seen_us : least_us) + 1;
    return 0;
}

/* The row of this boot.  1: it differs from the stored one. */
static int row_of_boot(struct db_tx *tx, const struct clock *local, struct row *ret,
                       struct error *err) {
    char boot[UUID_SIZE];
    int found;

    if (boot_id(boot, err) < 0 || (found = row_read(tx, ret, err)) < 0)
        return -1;
    if (found > 0 && strcmp(ret->base, boot) == 0)
        return 0;
    if (newest(tx, found ? ret->told_us : clock_now_us(local), &ret->told_us, err) < 0)
        return -1;
    ret->ahead_us = ret->told_us - clock_steady_us(local);
    memcpy(ret->base, boot, sizeof(ret->base));
    return 1;
}

int clock_of_boot(struct db_tx *tx, const struct clock *local, int64_t *ret_ahead_us,
                  struct error *err) {
    struct row row;
    int changed = row_of_boot(tx, local, &row, err);

    if (changed < 0 || (changed > 0 && row_replace(tx, &row, err) < 0))
        return -1;
    *ret_ahead_us = row.ahead_us;
    return 0;
}

int clock_read(struct db_tx *tx, const struct clock *local, int64_t *ret_ahead_us,
               struct error *err) {
    struct row row;

    if (row_of_boot(tx, local, &row, err) < 0)
        return -1;
    *ret_ahead_us = row.ahead_us;
    return 0;
}

/* The row of a boot is told the newest instant of the boots before. */
int clock_is_earlier_boot(struct db_tx *tx, int64_t instant_us, struct error *err) {
    return db_query_any(tx, err, "SELECT 1 FROM clock WHERE told_us > $1", DB_INT(instant_us));
}

int clock_of_server(struct db_tx *tx, int64_t server_us, struct error *err) {
    struct row row;
    int found = row_read(tx, &row, err);

    if (found < 0)
        return -1;
    if (found > 0 && strcmp(row.base, SERVER) == 0)
        return 0;
    if (newest(tx, found ? row.told_us : server_us, &row.told_us, err) < 0)
        return -1;
    row.ahead_us = row.told_us - server_us;
    strcpy(row.base, SERVER);
    return row_replace(tx, &row, err);
}

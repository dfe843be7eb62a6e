#include "db/sqlite/log.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"

#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <unistd.h>

/* https://sqlite.org/walformat.html: the header of the shared index, in this machine's byte
 * order. */
struct index_header {
    uint32_t version, unused, change;
    uint8_t is_init, big_endian;
    uint16_t page_size; /* 1: 65536 */
    uint32_t frames;    /* committed ones */
    uint32_t pages;
    uint32_t frame_sum[2]; /* of the last committed frame and all before it */
    uint8_t salt[8];       /* as in the log */
    uint32_t sum[2];
};

/* https://sqlite.org/fileformat2.html#walformat: checksums continue from the header over every
 * frame. */
enum { INDEX_BYTES = 32768, HEADER_BYTES = 32, HEADER_SALT = 16, HEADER_SUM = 24 };
enum { FRAME_BYTES = 24, FRAME_SUMMED = 8, FRAME_SALT = 8 };

struct log {
    sqlite3_file *file;
    struct index_header index;
    size_t page_size;
    uint32_t sum[2];
    int code; /* SQLite's, of the last failure */
};

static uint32_t word_read(const uint8_t *bytes, bool big_endian) {
    return big_endian ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                            (uint32_t)bytes[2] << 8 | bytes[3]
                      : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
                            (uint32_t)bytes[1] << 8 | bytes[0];
}

static void sum_add(struct log *log, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        log->sum[0] += word_read(bytes + i, log->index.big_endian) + log->sum[1];
        log->sum[1] += word_read(bytes + i + 4, log->index.big_endian) + log->sum[0];
    }
}

/* The end of the log; called with its write lock held, under which it does not change. */
static int log_find(const struct connection *connection, struct log *ret) {
    void volatile *index = NULL;
    sqlite3_file *database = NULL;

    *ret = (struct log){ .code = SQLITE_OK };
    sqlite3_file_control(connection->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &ret->file);
    sqlite3_file_control(connection->handle, "main", SQLITE_FCNTL_FILE_POINTER, &database);
    ret->code = database->pMethods->xShmMap(database, 0, INDEX_BYTES, 0, &index);
    if (ret->code != SQLITE_OK)
        return -1;
    memcpy(&ret->index, (const void *)(uintptr_t)index, sizeof(ret->index));
    ret->page_size = ret->index.page_size == 1 ? 65536 : ret->index.page_size;
    return 0;
}

/* Reads a part and writes it again: the kernel must bring it to the disk once more. */
static int part_renew(struct log *log, uint8_t *bytes, size_t size, sqlite3_int64 at) {
    log->code = log->file->pMethods->xRead(log->file, bytes, (int)size, at);
    if (log->code == SQLITE_IOERR_SHORT_READ)
        return SQLITE_LOG_LOST;
    if (log->code == SQLITE_OK)
        log->code = log->file->pMethods->xWrite(log->file, bytes, (int)size, at);
    return log->code == SQLITE_OK ? 0 : -1;
}

static int header_renew(struct log *log) {
    uint8_t header[HEADER_BYTES];
    int result = part_renew(log, header, sizeof(header), 0);

    if (result != 0)
        return result;
    sum_add(log, header, HEADER_SUM);
    return memcmp(header + HEADER_SALT, log->index.salt, sizeof(log->index.salt)) == 0
               ? 0
               : SQLITE_LOG_LOST;
}

static int frames_renew(struct log *log, sqlite3_int64 *ret_end) {
    size_t size = FRAME_BYTES + log->page_size;
    autofree uint8_t *frame = heap_new(size);
    int result = 0;

    assert(log->page_size >= 512);
    *ret_end = HEADER_BYTES;
    for (uint32_t i = 0; i < log->index.frames && result == 0; i++) {
        result = part_renew(log, frame, size, *ret_end);
        if (result == 0 &&
            memcmp(frame + FRAME_SALT, log->index.salt, sizeof(log->index.salt)) != 0)
            result = SQLITE_LOG_LOST;
        sum_add(log, frame, FRAME_SUMMED);
        sum_add(log, frame + FRAME_BYTES, log->page_size);
        *ret_end += (sqlite3_int64)size;
    }
    if (result == 0 && memcmp(log->sum, log->index.frame_sum, sizeof(log->sum)) != 0)
        result = SQLITE_LOG_LOST;
    return result;
}

static int log_renew(const struct connection *connection, struct log *log) {
    sqlite3_int64 end = 0, size = 0;
    int result = log_find(connection, log);

    if (result == 0 && log->index.frames > 0 && (result = header_renew(log)) == 0)
        result = frames_renew(log, &end);
    if (result != 0)
        return result;
    log->code = log->file->pMethods->xFileSize(log->file, &size);
    if (log->code == SQLITE_OK && size == 0 && !connection->in_doubt)
        return 0; /* of a new database, or after a clean end */
    if (log->code == SQLITE_OK)
        log->code = log->file->pMethods->xTruncate(log->file, end);
    if (log->code == SQLITE_OK)
        log->code = log->file->pMethods->xSync(log->file, SQLITE_SYNC_NORMAL);
    return log->code == SQLITE_OK ? 0 : -1;
}

int sqlite_log_renew(struct connection *connection, struct error *err) {
    struct log log;
    int result;

    if (sqlite_tx_control(connection, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    result = log_renew(connection, &log);
    sqlite_tx_rollback(connection);
    if (result == SQLITE_LOG_LOST)
        error_set(err, ERROR_UNAVAILABLE,
                  "The disk of the database has lost a part of its log that was not flushed yet: "
                  "stop every program that uses the database, and start again.");
    else if (result < 0)
        error_set(err, ERROR_UNAVAILABLE, "Disk failure of the database: %s",
                  sqlite3_errstr(log.code));
    return result;
}

int sqlite_log_keep_name(const char *path, struct error *err) {
    autofree char *copy = heap_text(path);
    autoclose int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "Flushing the directory of the file");
    return 0;
}

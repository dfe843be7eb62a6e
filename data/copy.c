#include "data/copy.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/hex.h"
#include "common/image_holes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_EVERY_US ((int64_t)500000)
/* A piece that takes less than QUICK_US doubles the next one; more than SLOW_US halves it. */
#define QUICK_US ((int64_t)50000)
#define SLOW_US  ((int64_t)250000)
enum {
    SMALLEST_PIECE = 1 << 16,
    LARGEST_PIECE = 1 << 26,
    ZEROS = 1 << 16, /* zeros of this length are not written */
};

struct run {
    const struct copy *copy;
    int64_t at;            /* everything before it is copied */
    int64_t piece;         /* that the kernel moves next */
    unsigned char *buffer; /* of one block; NULL: the kernel moves the bytes */
    int64_t block;         /* the start of the block in the buffer; -1: none */
    struct copy_position recorded;
    unsigned char digest[COPY_DIGEST_SIZE]; /* of all blocks before the one in the buffer */
    int64_t reported_us;
};

/* ---- checks ---- */

static int may(const struct run *run, struct error *err) {
    return run->copy->may ? run->copy->may(run->copy->arg, err) : 0;
}

/* Before each step. */
static int check(struct run *run, int64_t done, struct error *err) {
    const struct copy *copy = run->copy;
    int64_t now_us = clock_boottime_us();

    if (may(run, err) < 0)
        return -1;
    if (!copy->report || (run->reported_us && now_us - run->reported_us < REPORT_EVERY_US))
        return 0;
    run->reported_us = now_us;
    return copy->report(copy->arg, done, copy->from->size * (copy->verify ? 2 : 1), err);
}

static int flush(const struct run *run, struct error *err) {
    return may(run, err) < 0 ? -1 : volume_io_flush(run->copy->to, err);
}

/* ---- positions ---- */

static int record(struct run *run, int64_t at, struct error *err) {
    if (at == run->recorded.at)
        return 0;
    run->recorded.at = at;
    memcpy(run->recorded.digest, run->digest, sizeof(run->digest));
    return run->copy->record ? run->copy->record(run->copy->arg, &run->recorded, err) : 0;
}

static void leave_block(struct run *run) {
    if (run->block >= 0 && run->copy->verify)
        copy_digest_add(run->digest, run->block, run->buffer);
    run->block = -1;
}

/* At the start of a block, when it is due. */
static int record_if_due(struct run *run, struct error *err) {
    int64_t begin = run->at - run->at % COPY_BLOCK;

    if (!run->copy->record || begin - run->recorded.at < run->copy->record_bytes ||
        begin == run->recorded.at || begin == run->block)
        return 0;
    leave_block(run);
    return flush(run, err) < 0 ? -1 : record(run, begin, err);
}

/* ---- by the kernel ---- */

/* 1: this pair of ends does not support it. */
static int send_piece(struct run *run, int64_t end, struct error *err) {
    int64_t size = end - run->at < run->piece ? end - run->at : run->piece;
    int64_t begun_us = clock_boottime_us();
    int64_t moved = volume_io_send(run->copy->from, run->copy->to, run->at, size, err);
    int64_t spent_us = clock_boottime_us() - begun_us;

    if (moved <= 0)
        return moved < 0 ? -1 : 1;
    run->at += moved;
    if (spent_us < QUICK_US && run->piece < LARGEST_PIECE)
        run->piece *= 2;
    else if (spent_us > SLOW_US && run->piece > SMALLEST_PIECE)
        run->piece /= 2;
    return 0;
}

/* ---- by hand ---- */

static void move_by_hand(struct run *run) {
    run->buffer = heap_new((size_t)COPY_BLOCK);
    run->block = -1;
}

static size_t piece_of(const unsigned char *bytes, size_t size, bool *ret_zero) {
    size_t piece = size < ZEROS ? size : ZEROS;

    *ret_zero = image_is_zero(bytes, piece);
    return piece;
}

/* Pieces of zeros are not written. */
static int put(const struct run *run, const unsigned char *bytes, size_t size, struct error *err) {
    size_t done = 0, end;

    while (done < size) {
        int64_t offset = run->at + (int64_t)done;
        bool is_zero, next_zero;

        end = done + piece_of(bytes + done, size - done, &is_zero);
        while (end < size) {
            size_t piece = piece_of(bytes + end, size - end, &next_zero);

            if (next_zero != is_zero)
                break;
            end += piece;
        }
        if (may(run, err) < 0)
            return -1;
        if (!is_zero && volume_io_write(run->copy->to, bytes + done, end - done, offset, err) < 0)
            return -1;
        if (is_zero && !run->copy->blank &&
            volume_io_zero(run->copy->to, offset, (int64_t)(end - done), err) < 0)
            return -1;
        done = end;
    }
    return 0;
}

static int move_block(struct run *run, int64_t end, struct error *err) {
    int64_t begin = run->at - run->at % COPY_BLOCK;
    unsigned char *bytes;
    size_t size;

    if (begin != run->block) {
        leave_block(run);
        memset(run->buffer, 0, (size_t)COPY_BLOCK);
        run->block = begin;
    }
    if (end > run->block + COPY_BLOCK)
        end = run->block + COPY_BLOCK;
    bytes = run->buffer + (run->at - run->block);
    size = (size_t)(end - run->at);
    if (volume_io_read(run->copy->from, bytes, size, run->at, err) < 0 ||
        put(run, bytes, size, err) < 0)
        return -1;
    run->at = end;
    return 0;
}

/* ---- the whole ---- */

static int copy_range(struct run *run, const struct volume_io_range *data, struct error *err) {
    run->at = data->begin;
    while (run->at < data->end) {
        int result = 1;

        if (check(run, run->at, err) < 0 || record_if_due(run, err) < 0)
            return -1;
        if (!run->buffer)
            result = send_piece(run, data->end, err);
        if (result > 0 && !run->buffer)
            move_by_hand(run);
        if (result > 0)
            result = move_block(run, data->end, err);
        if (result < 0)
            return -1;
    }
    return 0;
}

static int zero_range(struct run *run, int64_t begin, int64_t end, struct error *err) {
    int64_t all = run->copy->from->size;

    for (int64_t at = begin; at < end && !run->copy->blank; at += LARGEST_PIECE) {
        int64_t size = end - at < LARGEST_PIECE ? end - at : LARGEST_PIECE;

        if (check(run, at < all ? at : all, err) < 0 ||
            volume_io_zero(run->copy->to, at, size, err) < 0)
            return -1;
    }
    return 0;
}

/* The next data are located first: allocated and unwritten blocks count as data once they are in
 * memory, and reading before them brings them there. */
static int copy_data(struct run *run, struct error *err) {
    struct volume_io *from = run->copy->from;
    struct volume_io_range now, next;
    int64_t copied = run->at;

    if (volume_io_find_data(from, run->at, &now, err) < 0)
        return -1;
    for (; now.begin < from->size; now = next) {
        if (volume_io_find_data(from, now.end, &next, err) < 0 ||
            zero_range(run, copied, now.begin, err) < 0 || copy_range(run, &now, err) < 0)
            return -1;
        copied = now.end;
    }
    leave_block(run);
    return zero_range(run, copied, run->copy->to->size, err);
}

static int check_back(void *arg, int64_t at, struct error *err) {
    struct run *run = arg;
    int64_t size = run->copy->from->size;

    return check(run, size + (at < size ? at : size), err);
}

static int verify(struct run *run, struct error *err) {
    unsigned char found[COPY_DIGEST_SIZE];

    if (copy_digest_read(run->copy->to, run->buffer, check_back, run, found, err) < 0)
        return -1;
    if (memcmp(found, run->digest, sizeof(found)) != 0)
        return error_set(err, ERROR_BACKEND,
                         "The copy reads back with another content than was written.");
    return 0;
}

int copy_run(const struct copy *copy, const struct copy_position *start, struct error *err) {
    struct run run = {
        .copy = copy, .at = start->at, .piece = SMALLEST_PIECE, .block = -1, .recorded = *start
    };
    int result;

    assert(copy->to->writable && copy->from != copy->to);
    if (copy->to->size < copy->from->size)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The target of the copy has %jd bytes, less than the %jd of its source.",
                         (intmax_t)copy->to->size, (intmax_t)copy->from->size);
    if (start->at < 0 || start->at > copy->from->size ||
        (start->at % COPY_BLOCK != 0 && start->at != copy->from->size))
        return error_set(err, ERROR_BAD_REQUEST, "The position %jd is not one of this copy.",
                         (intmax_t)start->at);
    memcpy(run.digest, start->digest, sizeof(run.digest));
    if (copy->verify)
        move_by_hand(&run);
    result = copy_data(&run, err);
    if (result == 0)
        result = flush(&run, err) < 0 || record(&run, copy->from->size, err) < 0 ? -1 : 0;
    if (result == 0 && copy->verify)
        result = verify(&run, err);
    free(run.buffer);
    return result;
}

/* ---- as text ---- */

char *copy_position_print(const struct copy_position *position, char text[COPY_POSITION_TEXT]) {
    int length = snprintf(text, COPY_POSITION_TEXT, "%jd ", (intmax_t)position->at);

    hex_encode(position->digest, COPY_DIGEST_SIZE, text + length);
    return text;
}

int copy_position_parse(const char *text, struct copy_position *ret) {
    struct copy_position position = { 0 };
    int length = 0;

    if (sscanf(text, "%19" SCNd64 " %n", &position.at, &length) != 1 || position.at < 0 ||
        strlen(text + length) != (size_t)2 * COPY_DIGEST_SIZE)
        return -1;
    if (!hex_decode(text + length, position.digest, COPY_DIGEST_SIZE))
        return -1;
    *ret = position;
    return 0;
}

#include "data/nbd_io.h"

#include "common/nbd_protocol.h"
#include "data/copy.h"
#include "data/nbd_session.h"
#include "tests/lib/nbd_server.h"
#include "tests/unit/data/volume_data.h"

#include <endian.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_MS   ((int64_t)600000)
#define SECOND_MS ((int64_t)1000)
#define SHORT_MS  ((int64_t)50)
#define SIZE      (3 * MIB + 512)

#define EVERY (NBD_HAS_FLAGS | NBD_HAS_FLUSH | NBD_HAS_TRIM | NBD_HAS_WRITE_ZEROES)

static struct volume_io *open_server(struct nbd_server *server, int64_t timeout_ms) {
    struct error err = { 0 };
    struct volume_io *io;

    server->size = SIZE;
    io = nbd_io_open_socket(nbd_server_start(server), "volume", true, timeout_ms, &err);
    ck_assert_msg(io != NULL, "%s", err.message);
    ck_assert_int_eq(io->size, SIZE);
    return io;
}

static void end(struct volume_io *io, struct nbd_server *server) {
    volume_io_close(io);
    nbd_server_stop(server);
}

/* With all of the protocol, and without its optional parts. */
static void each_server(void (*promise)(struct volume_io *io)) {
    struct nbd_server servers[] = {
        { .size = 0 }, { .simple = true }, { .no_context = true }, { .flags = NBD_HAS_FLAGS }
    };

    for (size_t i = 0; i < LENGTH(servers); i++) {
        struct volume_io *io = open_server(&servers[i], LONG_MS);

        promise(io);
        end(io, &servers[i]);
    }
}

static void keep_bytes(struct volume_io *io) {
    autovolumeio struct volume_io *same = memory_volume(SIZE);
    struct error err = { 0 };

    fill(io, 100, 2 * MIB, 7);
    fill(same, 100, 2 * MIB, 7);
    ck_assert_int_eq(volume_io_flush(io, &err), 0);
    assert_same_bytes(io, same, SIZE);
    ck_assert_int_eq(volume_io_zero(io, MIB, MIB, &err), 0);
    ck_assert_int_eq(volume_io_zero(same, MIB, MIB, &err), 0);
    ck_assert_int_eq(volume_io_discard(io, SIZE - 512, 512, &err), 0);
    assert_same_bytes(io, same, SIZE - 512);
}

START_TEST(written_and_zeroed_bytes_are_read_back) {
    each_server(keep_bytes);
}
END_TEST

static void copy_there_and_back(struct volume_io *io) {
    autovolumeio struct volume_io *from = memory_volume(SIZE), *back = memory_volume(SIZE);
    static const struct copy_position beginning;
    struct error err = { 0 };
    struct copy copy = { .from = from, .to = io, .verify = true };

    fill(from, 5000, 100 * KIB, 1);
    fill(from, 2 * MIB, 10, 2);
    fill(io, 0, SIZE, 3);
    ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "%s", err.message);
    copy = (struct copy){ .from = io, .to = back, .verify = true, .blank = true };
    ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "%s", err.message);
    assert_same_bytes(from, back, SIZE);
    ck_assert_int_le(data_bytes(back), 256 * KIB);
}

START_TEST(a_copy_runs_from_and_to_a_server) {
    each_server(copy_there_and_back);
}
END_TEST

START_TEST(extents_are_those_of_the_server) {
    struct nbd_server server = { 0 };
    struct volume_io *io = open_server(&server, LONG_MS);

    fill(io, 64 * KIB, 4 * KIB, 7);
    fill(io, SIZE - 512, 512, 7);
    ck_assert_int_eq(data_bytes(io), 4 * KIB + 512);
    end(io, &server);
}
END_TEST

/* As each page differs from the one before, one reply to all of it would have 768 extents. */
START_TEST(the_extents_of_a_fragmented_image_are_read) {
    struct nbd_server server = { 0 };
    struct volume_io *io = open_server(&server, LONG_MS);

    for (int64_t at = 0; at < 3 * MIB; at += 8 * KIB)
        fill(io, at, 4 * KIB, 7);
    ck_assert_int_eq(data_bytes(io), 3 * MIB / 2);
    end(io, &server);
}
END_TEST

START_TEST(requests_stay_within_the_flags_of_the_export) {
    for (int all = 0; all <= 1; all++) {
        struct nbd_server server = { .flags = all ? EVERY : NBD_HAS_FLAGS };
        struct volume_io *io = open_server(&server, LONG_MS);
        struct error err = { 0 };

        ck_assert_int_eq(volume_io_zero(io, 0, MIB, &err), 0);
        ck_assert_int_eq(volume_io_discard(io, 0, MIB, &err), 0);
        ck_assert_int_eq(volume_io_flush(io, &err), 0);
        ck_assert_uint_eq(server.zeroes, all ? 1 : 0);
        ck_assert_uint_eq(server.trims, all ? 1 : 0);
        ck_assert_uint_eq(server.flushes, all ? 1 : 0);
        ck_assert_uint_eq(server.writes, all ? 0 : MIB / (64 * KIB));
        end(io, &server);
    }
}
END_TEST

START_TEST(writes_are_flushed_behind) {
    struct nbd_server server = { 0 };
    struct volume_io *io = open_server(&server, LONG_MS);
    struct error err = { 0 };

    for (unsigned half = 1; half <= 4; half++) {
        for (int i = 0; i < 64; i++)
            fill(io, 0, MIB, 7);
        ck_assert_uint_eq(server.flushes, half / 2);
    }
    for (int i = 0; i < 127; i++)
        fill(io, 0, MIB, 7);
    ck_assert_int_eq(volume_io_flush(io, &err), 0);
    fill(io, 0, MIB, 7);
    ck_assert_uint_eq(server.flushes, 3); /* each flush counts from 0 again */
    end(io, &server);
}
END_TEST

START_TEST(a_failed_request_leaves_the_connection) {
    for (int simple = 0; simple <= 1; simple++) {
        struct nbd_server server = { .simple = simple, .fail_at = 1 };
        struct volume_io *io = open_server(&server, LONG_MS);
        struct error err = { 0 };
        char bytes[512] = { 0 };

        ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 0, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
        ck_assert_ptr_nonnull(strstr(err.message, "No space left on device"));
        ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 0, &err), 0);
        end(io, &server);
    }
}
END_TEST

START_TEST(a_server_that_hangs_ends_the_call_in_time_and_all_later_ones) {
    for (int greets = 0; greets <= 1; greets++) {
        struct nbd_server server = { .size = SIZE, .greets_not = !greets, .hang_at = 1 };
        struct error err = { 0 };
        struct volume_io *io = nbd_io_open_socket(nbd_server_start(&server), "volume", true,
                                                  greets ? SECOND_MS : SHORT_MS, &err);
        char bytes[512];

        ck_assert(!io == !greets);
        for (int i = 0; i < 2 && io; i++)
            ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 0, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        end(io, &server);
    }
}
END_TEST

static void send_option_reply(int fd, uint32_t option, uint32_t type, const void *data,
                              size_t size) {
    const struct nbd_option_reply head = { htobe64(NBD_OPTION_REPLY_MAGIC), htobe32(option),
                                           htobe32(type), htobe32((uint32_t)size) };

    ck_assert_int_eq(send(fd, &head, sizeof(head), 0), sizeof(head));
    ck_assert_int_eq(send(fd, data, size, 0), (ssize_t)size);
}

/* A negotiation and an answered read, as far as the client receives them. */
static void send_server(int fd, size_t infos, size_t empty_chunks) {
    const struct nbd_hello hello = { htobe64(NBD_HELLO_MAGIC), htobe64(NBD_OPTION_MAGIC),
                                     htobe16(NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES) };
    const struct nbd_export facts = { htobe16(NBD_INFO_EXPORT), htobe64(512), htobe16(EVERY) };
    const uint16_t kind = htobe16(99);
    struct nbd_chunk chunk = { .magic = htobe32(NBD_STRUCTURED_MAGIC), .handle = htobe64(1) };
    const uint64_t data[2] = { 0 };

    ck_assert_int_eq(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
    send_option_reply(fd, NBD_OPTION_STRUCTURED_REPLY, NBD_ACK, NULL, 0);
    send_option_reply(fd, NBD_OPTION_SET_META_CONTEXT, NBD_ACK, NULL, 0);
    for (size_t i = 0; i < infos; i++)
        send_option_reply(fd, NBD_OPTION_GO, NBD_INFO, &kind, sizeof(kind));
    send_option_reply(fd, NBD_OPTION_GO, NBD_INFO, &facts, sizeof(facts));
    send_option_reply(fd, NBD_OPTION_GO, NBD_ACK, NULL, 0);
    for (size_t i = 0; i < empty_chunks; i++)
        ck_assert_int_eq(send(fd, &chunk, sizeof(chunk), 0), sizeof(chunk));
    chunk.flags = htobe16(NBD_DONE);
    chunk.type = htobe16(NBD_CHUNK_DATA);
    chunk.size = htobe32(sizeof(data));
    ck_assert_int_eq(send(fd, &chunk, sizeof(chunk), 0), sizeof(chunk));
    ck_assert_int_eq(send(fd, data, sizeof(data), 0), sizeof(data));
}

/* The time of the call is over at once; all bytes are there, so that no wait notices it. */
START_TEST(a_reply_of_ever_more_parts_ends_the_call_in_time) {
    struct nbd_session session;
    struct error err = { 0 };
    unsigned char bytes[8];
    struct nbd_call call = { .command = NBD_COMMAND_READ, .size = 8, .buffer = bytes };
    int ends[2];

    for (int chunks = 0; chunks <= 1; chunks++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        send_server(ends[1], chunks ? 0 : 3, chunks ? 3 : 0);
        ck_assert_int_eq(nbd_session_open(&session, ends[0], "volume", chunks ? LONG_MS : 0, &err),
                         chunks ? 0 : -1);
        session.timeout_us = 0;
        if (chunks)
            ck_assert_int_eq(nbd_session_call(&session, &call, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        close(ends[0]);
        close(ends[1]);
    }
}
END_TEST

/* Replies of another form, for another request or range: refused, with nothing written outside of
 * the buffer. */
START_TEST(a_reply_that_breaks_the_protocol_ends_the_session) {
    struct __attribute__((packed)) reply {
        struct nbd_chunk chunk;
        uint64_t offset;
        uint32_t data[4];
    };
    const struct reply good = { { htobe32(NBD_STRUCTURED_MAGIC), htobe16(NBD_DONE),
                                  htobe16(NBD_CHUNK_DATA), htobe64(1), htobe32(24) },
                                htobe64(8192),
                                { 0 } };
    struct reply replies[10];
    size_t i = 0;

    for (size_t j = 0; j < LENGTH(replies); j++)
        replies[j] = good;
    replies[i++].chunk.magic = htobe32(1);
    replies[i++].chunk.handle = htobe64(2);
    replies[i++].offset = htobe64(8191);
    replies[i++].offset = htobe64(8200);
    replies[i++].offset = htobe64(UINT64_MAX - 4);
    replies[i++].chunk.size = htobe32(8);
    replies[i++].chunk.size = htobe32(UINT32_MAX);
    replies[i++].chunk.type = htobe16(NBD_CHUNK_STATUS);
    replies[i++].chunk.type = htobe16(99);
    replies[i].chunk.type = htobe16(NBD_CHUNK_HOLE); /* of the wrong size */
    for (i = 0; i < LENGTH(replies); i++) {
        struct nbd_server server = { .wrong_at = 1,
                                     .wrong = &replies[i],
                                     .wrong_size = sizeof(replies[i]) };
        struct volume_io *io = open_server(&server, LONG_MS);
        struct error err = { 0 };
        char bytes[16];

        ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 8192, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
        ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 8192, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        end(io, &server);
    }
}
END_TEST

/* Refuses a reply of these bytes to a read of 16 bytes at 8192, or to a block status. */
static void refuse(const void *reply, size_t size, bool read) {
    struct nbd_server server = { .wrong_at = 1, .wrong = reply, .wrong_size = size };
    struct volume_io *io = open_server(&server, LONG_MS);
    struct volume_io_extent extent;
    struct error err = { 0 };
    char bytes[16];

    ck_assert_int_eq(read ? volume_io_read(io, bytes, sizeof(bytes), 8192, &err)
                          : volume_io_extent(io, 0, &extent, &err),
                     -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    end(io, &server);
}

static struct nbd_chunk chunk_of(uint16_t flags, uint16_t type, uint32_t size) {
    return (struct nbd_chunk){ htobe32(NBD_STRUCTURED_MAGIC), htobe16(flags), htobe16(type),
                               htobe64(1), htobe32(size) };
}

START_TEST(a_read_whose_chunks_do_not_fill_the_buffer_once_is_refused) {
    struct __attribute__((packed)) {
        struct __attribute__((packed)) {
            struct nbd_chunk chunk;
            uint64_t offset, data;
        } data[2];
    } halves = { { { chunk_of(0, NBD_CHUNK_DATA, 16), htobe64(8192), 0 },
                   { chunk_of(NBD_DONE, NBD_CHUNK_DATA, 16), htobe64(8200), 0 } } };
    const uint64_t second[] = { 8192, 8196, 8208 };

    for (size_t i = 0; i < LENGTH(second); i++) {
        halves.data[1].offset = htobe64(second[i]);
        refuse(&halves, sizeof(halves), true);
    }
}
END_TEST

START_TEST(a_hole_without_bytes_is_refused) {
    const struct __attribute__((packed)) {
        struct nbd_chunk chunk;
        uint64_t offset;
        uint32_t size;
        struct nbd_chunk data_chunk;
        uint64_t data_offset, data[2];
    } reply = { chunk_of(0, NBD_CHUNK_HOLE, 12),        htobe64(8192), 0,
                chunk_of(NBD_DONE, NBD_CHUNK_DATA, 24), htobe64(8192), { 0 } };

    refuse(&reply, sizeof(reply), true);
}
END_TEST

START_TEST(a_second_status_in_a_reply_is_refused) {
    const struct __attribute__((packed)) {
        struct __attribute__((packed)) {
            struct nbd_chunk chunk;
            uint32_t context, size, state;
        } status[2];
    } reply = { { { chunk_of(0, NBD_CHUNK_STATUS, 12), htobe32(NBD_SERVER_CONTEXT), htobe32(512),
                    0 },
                  { chunk_of(NBD_DONE, NBD_CHUNK_STATUS, 12), htobe32(NBD_SERVER_CONTEXT),
                    htobe32(512), 0 } } };

    refuse(&reply, sizeof(reply), false);
}
END_TEST

START_TEST(a_read_only_or_unknown_export_and_a_missing_server_are_refused) {
    struct nbd_server read_only = { .size = SIZE, .flags = EVERY | NBD_READ_ONLY };
    struct nbd_server unknown = { .size = SIZE };
    struct error err = { 0 };

    ck_assert_ptr_null(
        nbd_io_open_socket(nbd_server_start(&read_only), "volume", true, LONG_MS, &err));
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    nbd_server_stop(&read_only);
    ck_assert_ptr_null(nbd_io_open_socket(nbd_server_start(&unknown), "none", true, LONG_MS, &err));
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    nbd_server_stop(&unknown);
    ck_assert_ptr_null(nbd_io_open("/nonexistent/socket", "volume", false, LONG_MS, &err));
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
}
END_TEST

CHECK_MAIN("nbd_io", written_and_zeroed_bytes_are_read_back, a_copy_runs_from_and_to_a_server,
           extents_are_those_of_the_server, the_extents_of_a_fragmented_image_are_read,
           requests_stay_within_the_flags_of_the_export, a_failed_request_leaves_the_connection,
           writes_are_flushed_behind, a_server_that_hangs_ends_the_call_in_time_and_all_later_ones,
           a_reply_of_ever_more_parts_ends_the_call_in_time,
           a_reply_that_breaks_the_protocol_ends_the_session,
           a_read_whose_chunks_do_not_fill_the_buffer_once_is_refused,
           a_hole_without_bytes_is_refused, a_second_status_in_a_reply_is_refused,
           a_read_only_or_unknown_export_and_a_missing_server_are_refused)

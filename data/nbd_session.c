#include "data/nbd_session.h"

#include "common/clock.h"
#include "common/nbd_protocol.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { TEXT_MOST = 4096 };

/* ---- bytes ---- */

static int end_session(struct nbd_session *session, struct error *err, const char *why) {
    session->is_broken = true;
    return error_set(err, session->lost, "The NBD server %s.", why);
}

static int break_off(struct nbd_session *session, struct error *err) {
    session->is_broken = true;
    return error_set(err, ERROR_BACKEND, "The NBD server sent an invalid reply.");
}

static int await_socket(struct nbd_session *session, short events, struct error *err) {
    struct pollfd pollfd = { session->fd, events, 0 };
    int64_t left_us = session->until_us - clock_monotonic_us();

    if (left_us <= 0)
        return end_session(session, err, "does not respond");
    if (poll(&pollfd, 1, (int)(left_us / 1000) + 1) < 0 && errno != EINTR)
        return end_session(session, err, strerror(errno));
    return 0;
}

/* Between the parts of a reply: those of an endless one may always be there without a wait. */
static int check_time(struct nbd_session *session, struct error *err) {
    return clock_monotonic_us() < session->until_us
               ? 0
               : end_session(session, err, "does not complete its reply");
}

static bool is_transient(void) {
    return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
}

static int put(struct nbd_session *session, const void *data, size_t size, struct error *err) {
    const char *next = data;

    while (size > 0) {
        ssize_t sent = send(session->fd, next, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && !is_transient())
            return end_session(session, err, "disconnected");
        if (sent < 0 && await_socket(session, POLLOUT, err) < 0)
            return -1;
        if (sent > 0) {
            next += sent;
            size -= (size_t)sent;
        }
    }
    return 0;
}

static int get(struct nbd_session *session, void *data, size_t size, struct error *err) {
    char *next = data;

    while (size > 0) {
        ssize_t got = recv(session->fd, next, size, MSG_DONTWAIT);

        if (got == 0 || (got < 0 && !is_transient()))
            return end_session(session, err, "disconnected");
        if (got < 0 && await_socket(session, POLLIN, err) < 0)
            return -1;
        if (got > 0) {
            next += got;
            size -= (size_t)got;
        }
    }
    return 0;
}

/* ---- negotiation ---- */

struct reply {
    uint32_t type, size;
    unsigned char data[TEXT_MOST];
};

static int get_option_reply(struct nbd_session *session, uint32_t option, struct reply *ret,
                            struct error *err) {
    struct nbd_option_reply head;

    if (get(session, &head, sizeof(head), err) < 0)
        return -1;
    ret->type = be32toh(head.type);
    ret->size = be32toh(head.length);
    if (be64toh(head.magic) != NBD_OPTION_REPLY_MAGIC || be32toh(head.option) != option ||
        ret->size > sizeof(ret->data))
        return break_off(session, err);
    return get(session, ret->data, ret->size, err);
}

/* Also takes what the replies before the last one report. */
static int take_info(struct nbd_session *session, const struct reply *reply, struct error *err) {
    struct nbd_export facts;
    uint16_t kind;

    if (reply->type == NBD_META_CONTEXT && reply->size >= sizeof(session->context)) {
        memcpy(&session->context, reply->data, sizeof(session->context));
        session->has_allocation = true;
        return 0;
    }
    if (reply->type != NBD_INFO || reply->size < sizeof(kind))
        return break_off(session, err);
    memcpy(&kind, reply->data, sizeof(kind));
    if (be16toh(kind) != NBD_INFO_EXPORT)
        return 0;
    if (reply->size != sizeof(facts))
        return break_off(session, err);
    memcpy(&facts, reply->data, sizeof(facts));
    session->size = be64toh(facts.size);
    session->flags = be16toh(facts.flags);
    return session->size > INT64_MAX ? break_off(session, err) : 0;
}

/* 1: the server refuses it; *ret_type is the reason. */
static int negotiate(struct nbd_session *session, uint32_t option, const void *data, size_t size,
                     uint32_t *ret_type, struct error *err) {
    const struct nbd_option head = { htobe64(NBD_OPTION_MAGIC), htobe32(option),
                                     htobe32((uint32_t)size) };
    struct reply reply;

    if (put(session, &head, sizeof(head), err) < 0 || put(session, data, size, err) < 0)
        return -1;
    for (;;) {
        if (get_option_reply(session, option, &reply, err) < 0)
            return -1;
        *ret_type = reply.type;
        if (reply.type == NBD_ACK)
            return 0;
        if (reply.type & NBD_ERROR_REPLY)
            return 1;
        if (take_info(session, &reply, err) < 0 || check_time(session, err) < 0)
            return -1;
    }
}

struct text {
    size_t size;
    char bytes[TEXT_MOST];
};

static void add_text(struct text *text, const char *bytes) {
    uint32_t length = htobe32((uint32_t)strlen(bytes));

    memcpy(text->bytes + text->size, &length, sizeof(length));
    memcpy(text->bytes + text->size + sizeof(length), bytes, strlen(bytes));
    text->size += sizeof(length) + strlen(bytes);
}

static int request_allocation(struct nbd_session *session, const char *export, struct error *err) {
    const uint32_t one = htobe32(1);
    struct text text = { 0 };
    uint32_t type;

    add_text(&text, export);
    memcpy(text.bytes + text.size, &one, sizeof(one));
    text.size += sizeof(one);
    add_text(&text, NBD_ALLOCATION);
    return negotiate(session, NBD_OPTION_SET_META_CONTEXT, text.bytes, text.size, &type, err) < 0
               ? -1
               : 0;
}

static int go(struct nbd_session *session, const char *export, struct error *err) {
    struct text text = { 0 };
    uint32_t type;
    int result;

    add_text(&text, export);
    text.size += sizeof(uint16_t); /* no further information is requested */
    result = negotiate(session, NBD_OPTION_GO, text.bytes, text.size, &type, err);
    if (result > 0 && type == (NBD_ERROR_REPLY | NBD_UNKNOWN))
        return error_set(err, ERROR_NOT_FOUND, "The NBD server has no export %s.", export);
    if (result > 0)
        return error_set(err, ERROR_BACKEND, "The NBD server refuses the export %s.", export);
    return result < 0 || session->flags & NBD_HAS_FLAGS ? result : break_off(session, err);
}

int nbd_session_open(struct nbd_session *ret, int fd, const char *export, int64_t timeout_ms,
                     struct error *err) {
    struct nbd_session session = { .fd = fd,
                                   .timeout_us = timeout_ms * 1000,
                                   .lost = ERROR_UNAVAILABLE };
    const uint32_t flags = htobe32(NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES);
    struct nbd_hello hello;
    uint32_t type;
    int refused;

    if (strlen(export) > TEXT_MOST / 2)
        return error_set(err, ERROR_NOT_FOUND, "The name of the NBD export is too long.");
    session.until_us = clock_monotonic_us() + session.timeout_us;
    if (get(&session, &hello, sizeof(hello), err) < 0)
        return -1;
    if (be64toh(hello.magic) != NBD_HELLO_MAGIC ||
        be64toh(hello.option_magic) != NBD_OPTION_MAGIC ||
        !(be16toh(hello.flags) & NBD_FIXED_NEWSTYLE))
        return break_off(&session, err);
    if (put(&session, &flags, sizeof(flags), err) < 0)
        return -1;
    refused = negotiate(&session, NBD_OPTION_STRUCTURED_REPLY, "", 0, &type, err);
    session.is_structured = refused == 0;
    if (refused < 0 || (session.is_structured && request_allocation(&session, export, err) < 0) ||
        go(&session, export, err) < 0)
        return -1;
    *ret = session;
    return 0;
}

/* ---- replies ---- */

struct answer {
    struct nbd_call *call;
    uint64_t got; /* bytes of a read */
    uint32_t code;
};

/* The next part of a read's buffer; NULL: a chunk of another offset, without bytes, or too large.
 * Only in this order it is certain without more that each byte was received. */
static unsigned char *next_part(struct answer *answer, uint64_t offset, uint32_t size) {
    const struct nbd_call *call = answer->call;
    uint64_t begin = answer->got;

    if (call->command != NBD_COMMAND_READ || offset != call->offset + begin || size == 0 ||
        size > call->size - begin)
        return NULL;
    answer->got += size;
    return call->buffer + begin;
}

static int take_data(struct nbd_session *session, struct answer *answer, uint32_t size,
                     struct error *err) {
    unsigned char *part;
    uint64_t offset;

    if (size <= sizeof(offset))
        return break_off(session, err);
    if (get(session, &offset, sizeof(offset), err) < 0)
        return -1;
    size -= (uint32_t)sizeof(offset);
    part = next_part(answer, be64toh(offset), size);
    return part ? get(session, part, size, err) : break_off(session, err);
}

static int take_hole(struct nbd_session *session, struct answer *answer, uint32_t size,
                     struct error *err) {
    struct __attribute__((packed)) {
        uint64_t offset;
        uint32_t size;
    } hole;
    unsigned char *part;

    if (size != sizeof(hole))
        return break_off(session, err);
    if (get(session, &hole, sizeof(hole), err) < 0)
        return -1;
    part = next_part(answer, be64toh(hole.offset), be32toh(hole.size));
    if (!part)
        return break_off(session, err);
    memset(part, 0, be32toh(hole.size));
    return 0;
}

static int take_status(struct nbd_session *session, const struct answer *answer, uint32_t size,
                       struct error *err) {
    struct __attribute__((packed)) {
        uint32_t context, size, state; /* of the requested one extent */
    } status;
    struct nbd_call *call = answer->call;

    if (call->command != NBD_COMMAND_BLOCK_STATUS || size != sizeof(status) || call->run > 0)
        return break_off(session, err);
    if (get(session, &status, sizeof(status), err) < 0)
        return -1;
    if (status.context != session->context || status.size == 0)
        return break_off(session, err);
    call->is_zero = be32toh(status.state) & NBD_STATE_ZERO;
    call->run = be32toh(status.size);
    return 0;
}

static int take_failure(struct nbd_session *session, struct answer *answer, uint32_t size,
                        struct error *err) {
    char text[TEXT_MOST];
    uint32_t code;

    if (size < sizeof(code) || size > sizeof(text))
        return break_off(session, err);
    if (get(session, text, size, err) < 0)
        return -1;
    memcpy(&code, text, sizeof(code));
    answer->code = be32toh(code);
    return answer->code == 0 ? break_off(session, err) : 0;
}

static int get_simple(struct nbd_session *session, struct answer *answer, struct error *err) {
    struct nbd_simple head;
    struct nbd_call *call = answer->call;

    if (get(session, (char *)&head + sizeof(head.magic), sizeof(head) - sizeof(head.magic), err) <
        0)
        return -1;
    if (be64toh(head.handle) != session->handle)
        return break_off(session, err);
    answer->code = be32toh(head.code);
    if (answer->code != 0 || call->command != NBD_COMMAND_READ)
        return 0;
    answer->got = call->size;
    return session->is_structured ? break_off(session, err)
                                  : get(session, call->buffer, call->size, err);
}

/* 1: more follows. */
static int get_reply(struct nbd_session *session, struct answer *answer, struct error *err) {
    struct nbd_chunk head;
    uint16_t type;
    uint32_t size;
    int result = 0;

    if (get(session, &head.magic, sizeof(head.magic), err) < 0)
        return -1;
    if (be32toh(head.magic) == NBD_SIMPLE_MAGIC)
        return get_simple(session, answer, err);
    if (be32toh(head.magic) != NBD_STRUCTURED_MAGIC || !session->is_structured)
        return break_off(session, err);
    if (get(session, &head.flags, sizeof(head) - sizeof(head.magic), err) < 0)
        return -1;
    if (be64toh(head.handle) != session->handle)
        return break_off(session, err);
    type = be16toh(head.type);
    size = be32toh(head.size);
    if (type & NBD_CHUNK_ERROR)
        result = take_failure(session, answer, size, err);
    else if (type == NBD_CHUNK_DATA)
        result = take_data(session, answer, size, err);
    else if (type == NBD_CHUNK_HOLE)
        result = take_hole(session, answer, size, err);
    else if (type == NBD_CHUNK_STATUS)
        result = take_status(session, answer, size, err);
    else if (type != NBD_CHUNK_NONE || size != 0)
        result = break_off(session, err);
    if (result < 0)
        return -1;
    return be16toh(head.flags) & NBD_DONE ? 0 : 1;
}

static int send_request(struct nbd_session *session, const struct nbd_call *call,
                        struct error *err) {
    /* QEMU reports up to 131072 extents otherwise. */
    uint16_t flags = call->command == NBD_COMMAND_BLOCK_STATUS ? NBD_REQUEST_ONE : 0;
    const struct nbd_request request = { htobe32(NBD_REQUEST_MAGIC), htobe16(flags),
                                         htobe16(call->command),     htobe64(++session->handle),
                                         htobe64(call->offset),      htobe32(call->size) };

    return put(session, &request, sizeof(request), err) < 0 ||
                   (call->data && put(session, call->data, call->size, err) < 0)
               ? -1
               : 0;
}

int nbd_session_call(struct nbd_session *session, struct nbd_call *call, struct error *err) {
    struct answer answer = { .call = call };
    int more;

    if (session->is_broken)
        return error_set(err, session->lost, "The connection to the NBD server has ended.");
    session->until_us = clock_monotonic_us() + session->timeout_us;
    if (send_request(session, call, err) < 0)
        return -1;
    while ((more = get_reply(session, &answer, err)) > 0) {
        if (check_time(session, err) < 0)
            return -1;
    }
    if (more < 0)
        return -1;
    if (answer.code != 0)
        return error_set(err, ERROR_BACKEND, "The NBD server failed a request: %s.",
                         strerror((int)answer.code));
    return call->command == NBD_COMMAND_READ && answer.got != call->size ? break_off(session, err)
                                                                         : 0;
}

void nbd_session_end(struct nbd_session *session) {
    const struct nbd_call call = { .command = NBD_COMMAND_DISCONNECT };

    session->until_us = clock_monotonic_us();
    if (!session->is_broken)
        send_request(session, &call, NULL);
}

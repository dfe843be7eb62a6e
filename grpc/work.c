/*
 * Calls on threads, and the time of the I/O thread's next check.
 */
#include "grpc/server.private.h"

#include "common/worker.h"

#include <errno.h>
#include <unistd.h>

void grpc_server_look_at(struct grpc_server *server, int64_t instant_us) {
    if (server->next_us == 0 || instant_us < server->next_us)
        server->next_us = instant_us;
}

#define MOST_ANSWER ((size_t)16 * 1024 * 1024)

static int run_handler(struct grpc_stream *stream) {
    const struct grpc_entry *entry = stream->entry;
    struct grpc_call *call = &stream->call;
    const void *request =
        grpc_message_read(call->arena, entry->request, stream->body, stream->length, &stream->err);
    void *response = grpc_message_new(call->arena, entry->response);
    const struct log_context *before = log_within(&call->log);
    int result = request ? entry->handler(call, request, response, &stream->err) : -1;

    log_within(before);
    return result != 0 ? result
                       : grpc_message_write(response, MOST_ANSWER, &stream->frame,
                                            &stream->frame_size, &stream->err);
}

void grpc_server_wake(struct grpc_server *server) {
    const uint64_t one = 1;

    while (write(server->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

static void work(struct grpc_stream *stream) {
    const char *code;

    /* over: the deadline has passed, or the client has gone, while the call waited for a thread */
    stream->result =
        grpc_call_is_over(&stream->call)
            ? grpc_refuse(&stream->err, GRPC_DEADLINE_EXCEEDED, "the deadline has passed")
            : run_handler(stream);
    code = grpc_code_name(grpc_code_of(stream->result, &stream->err));
    if (stream->result == 0)
        log_debug(&stream->call.log, "call done", "method", stream->call.path, NULL);
    else if (stream->result < 0 && error_is_hidden(stream->err.kind))
        log_warning(&stream->call.log, "call failed", "method", stream->call.path, "code", code,
                    "reason", stream->err.message, NULL);
    else
        log_info(&stream->call.log, "call refused", "method", stream->call.path, "code", code,
                 "reason", stream->err.message, NULL);
}

static void work_in_pool(void *arg) {
    struct grpc_stream *stream = arg;
    struct grpc_server *server = stream->server;

    work(stream);
    pthread_mutex_lock(&server->lock);
    STAILQ_INSERT_TAIL(&server->done, stream, done);
    pthread_mutex_unlock(&server->lock);
    grpc_server_wake(server);
}

bool grpc_server_work(struct grpc_stream *stream) {
    struct grpc_server *server = stream->server;
    const struct work_item item = { .group = stream->call.path,
                                    .run = work_in_pool,
                                    .arg = stream };

    stream->state = GRPC_WORKED_ON;
    if (stream->entry->quick) {
        work(stream);
        return true;
    }
    if (!stream->entry->ahead) {
        stream->call.pool = server->pool;
        stream->call.threads = server->workers;
    }
    LIST_INSERT_HEAD(&server->at_work, stream, at_work);
    server->working++;
    worker_pool_put(stream->entry->ahead ? server->ahead : server->pool, &item);
    return false;
}

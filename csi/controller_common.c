#include "csi/controller.private.h"

#include "common/cleanup.h"

#include <string.h>
#include <time.h>

#define LONGEST_WAIT_US (30 * SECOND_US)
#define SHORT_OF_US     (SECOND_US / 2) /* of the caller's deadline */
#define FIRST_PAUSE_US  20000
#define PAUSE_DOUBLINGS 5
#define ROWS_MOST       10000 /* in one answer, which clients take up to 4 MiB of */
#define PAGE_MOST       1000  /* what the API gives at once by default */

int controller_need(const char *text, const char *field, struct error *err) {
    return *text ? 0 : grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is missing.", field);
}

int controller_refused(struct error *err) {
    if (err->kind != ERROR_BAD_REQUEST && err->kind != ERROR_CONFLICT)
        return -1;
    return grpc_refuse(err, GRPC_FAILED_PRECONDITION, "%s", err->message);
}

bool controller_is_told(const char *parameter) {
    static const char prefix[] = "csi.storage.k8s.io/";

    return strncmp(parameter, prefix, sizeof(prefix) - 1) == 0;
}

Csi__V1__Timestamp *controller_timestamp(struct arena *arena, int64_t us) {
    Csi__V1__Timestamp *timestamp = CSI_NEW(arena, Csi__V1__Timestamp, csi__v1__timestamp);

    timestamp->seconds = us / SECOND_US;
    timestamp->nanos = (int32_t)(us % SECOND_US * 1000);
    return timestamp;
}

/* ---- waiting ---- */

struct patience patience_of(const struct grpc_call *call) {
    int64_t until_us = clock_monotonic_us() + LONGEST_WAIT_US;
    int64_t end_us = __atomic_load_n(&call->until_us, __ATOMIC_RELAXED);

    if (end_us != 0 && end_us - SHORT_OF_US < until_us)
        until_us = end_us - SHORT_OF_US;
    return (struct patience){ .until_us = until_us };
}

bool patience_again(const struct grpc_call *call, struct patience *patience) {
    unsigned doubled = patience->looks < PAUSE_DOUBLINGS ? patience->looks : PAUSE_DOUBLINGS;
    int64_t pause_us = (int64_t)FIRST_PAUSE_US << doubled;
    struct timespec pause = clock_timespec(pause_us);

    if (grpc_call_is_over(call) || clock_monotonic_us() + pause_us > patience->until_us)
        return false;
    patience->looks++;
    nanosleep(&pause, NULL);
    return true;
}

/* ---- names ---- */

/* As Python writes a text, which is how the API reads it. */
static const char *quoted(struct arena *arena, const char *text) {
    char *quote = arena_alloc(arena, 2 * strlen(text) + 3), *end = quote;

    *end++ = '\'';
    for (; *text; text++) {
        const char *mark = strchr("\n"
                                  "n"
                                  "\t"
                                  "t"
                                  "\r"
                                  "r"
                                  "\\\\"
                                  "''",
                                  *text);

        if (mark && (*text < ' ' || *text == '\\' || *text == '\'')) {
            *end++ = '\\';
            *end++ = mark[1];
        } else {
            *end++ = *text;
        }
    }
    *end++ = '\'';
    *end = '\0';
    return quote;
}

const char *controller_query(struct arena *arena, const char *name) {
    const char *pair = arena_format(arena, "{'" CSI_NAME_KEY "': %s}", quoted(arena, name));

    return arena_join(arena, "metadata=", http_encode(arena, pair), NULL);
}

bool controller_named(const json_t *metadata, const char *name) {
    const char *have = json_text_of(metadata, CSI_NAME_KEY);

    return have && strcmp(have, name) == 0;
}

bool controller_is_untold(const json_t *metadata) {
    return json_text_of(metadata, CSI_UNTOLD_KEY) != NULL;
}

int controller_tell(const struct client *api, struct arena *arena, const char *kind, const char *id,
                    struct error *err) {
    const struct client_call call = {
        .method = "DELETE",
        .path = arena_format(arena, "/%s/%s/metadata/" CSI_UNTOLD_KEY, kind, id),
    };
    struct http_answer answer;

    if (client_call(api, arena, &call, &answer, err) == 0)
        return 0;
    return err->kind == ERROR_NOT_FOUND ? 0 : -1; /* somebody else has told it */
}

/* ---- lists ---- */

static const char *id_of(const void *rows, size_t row_size, unsigned i) {
    return *(const char *const *)((const char *)rows + i * row_size);
}

/* What a token that is none, or the mark of a row that has gone meanwhile, makes the API say. */
static int page_refused(const char *marker, struct error *err) {
    if (marker && (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_BAD_REQUEST))
        return grpc_refuse(err, GRPC_ABORTED, "There is no %.64s any more to go on from.", marker);
    return -1;
}

int controller_collect(const struct client *api, struct arena *arena,
                       const struct controller_kind *kind, const char *query, int32_t max_entries,
                       const char *token, void **ret, unsigned *ret_count, char **ret_next,
                       struct error *err) {
    unsigned most = max_entries > 0 && max_entries < ROWS_MOST ? (unsigned)max_entries : ROWS_MOST;
    const char *marker = *token ? token : NULL;
    char *rows = arena_alloc(arena, (most + 1) * kind->row_size);
    unsigned count = 0;

    if (max_entries < 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "max_entries is negative.");
    while (count <= most) {
        unsigned limit = most + 1 - count < PAGE_MOST ? most + 1 - count : PAGE_MOST;
        void *page = NULL;
        int got = kind->page(api, arena, query, marker, limit, &page, err);

        if (got < 0)
            return page_refused(marker, err);
        if (got == 0)
            break;
        if ((unsigned)got > limit)
            got = (int)limit;
        memcpy(rows + count * kind->row_size, page, (size_t)got * kind->row_size);
        count += (unsigned)got;
        marker = id_of(rows, kind->row_size, count - 1);
    }
    *ret_next = arena_text(arena, count > most ? id_of(rows, kind->row_size, most - 1) : "");
    *ret_count = count > most ? most : count;
    *ret = rows;
    return 0;
}

#include "csi/controller/controller.private.h"

#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/nearest.h"

#include <string.h>
#include <time.h>

#define LONGEST_WAIT_US  (30 * SECOND_US)
#define SHARED_WAIT_US   SECOND_US       /* while other calls wait for a thread */
#define SHORT_OF_US      (SECOND_US / 2) /* before the caller's deadline */
#define FIRST_PAUSE_US   20000
#define LONGEST_PAUSE_US 640000
#define ROWS_MOST        10000 /* in one response, which clients accept up to 4 MiB */
#define PAGE_MOST        1000  /* the API's default page size */

int controller_require(const char *text, const char *field, struct error *err) {
    return *text ? 0 : grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is missing.", field);
}

int controller_unknown(const char *key, const char *what, const char *of, const char *const *known,
                       size_t count, struct error *err) {
    struct nearest nearest = nearest_to(key);

    for (size_t i = 0; i < count; i++)
        nearest_try(&nearest, known[i]);
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no %s %.64s%s%s%s%s", what, key, of,
                       nearest.word ? "; did you mean " : "", nearest.word ? nearest.word : "",
                       nearest.word ? "?" : ".");
}

bool controller_is_informational(const char *parameter) {
    static const char prefix[] = "csi.storage.k8s.io/";

    return strncmp(parameter, prefix, sizeof(prefix) - 1) == 0;
}

Csi__V1__Timestamp *controller_timestamp(struct arena *arena, int64_t us) {
    Csi__V1__Timestamp *timestamp = CSI_NEW(arena, Csi__V1__Timestamp, csi__v1__timestamp);

    timestamp->seconds = us / SECOND_US;
    timestamp->nanos = (int32_t)(us % SECOND_US * 1000);
    return timestamp;
}

/* ---- polling ---- */

struct poll_wait poll_wait_of(const struct grpc_call *call) {
    int64_t now_us = clock_monotonic_us(), until_us = now_us + LONGEST_WAIT_US;
    int64_t end_us = __atomic_load_n(&call->until_us, __ATOMIC_RELAXED);

    if (end_us != 0 && end_us - SHORT_OF_US < until_us)
        until_us = end_us - SHORT_OF_US;
    return (struct poll_wait){ .until_us = until_us, .shared_until_us = now_us + SHARED_WAIT_US };
}

bool poll_again(const struct grpc_call *call, struct poll_wait *wait) {
    static const struct backoff_limits pauses = { .first_us = FIRST_PAUSE_US,
                                                  .most_us = LONGEST_PAUSE_US };
    int64_t pause_us = backoff_pause_us(&pauses, wait->polls + 1);
    int64_t next_us = clock_monotonic_us() + pause_us;
    struct timespec pause = clock_timespec(pause_us);

    if (grpc_call_is_over(call) || next_us > wait->until_us ||
        (next_us > wait->shared_until_us && grpc_call_delays_others(call)))
        return false;
    wait->polls++;
    nanosleep(&pause, NULL);
    return true;
}

/* ---- names ---- */

/* A string literal of Python, as expected by the API. */
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

const char *controller_mark(const struct grpc_call *call, const char *name) {
    const char *cluster = csi_driver_of(call)->cluster;

    return *cluster || name[0] == '@' ? arena_join(call->arena, "@", cluster, "/", name, NULL)
                                      : name;
}

const char *controller_name_in(const char *mark, const char **ret_cluster, size_t *ret_length) {
    const char *slash = mark[0] == '@' ? strchr(mark, '/') : NULL;

    *ret_cluster = slash ? mark + 1 : "";
    *ret_length = slash ? (size_t)(slash - mark - 1) : 0;
    return slash ? slash + 1 : mark;
}

int controller_check_owner(const struct grpc_call *call, const char *label, const char *id,
                           const char *mark, struct error *err) {
    const char *ours = csi_driver_of(call)->cluster, *cluster;
    size_t length;

    if (!mark || !*mark)
        return grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                           "The %s %s was not created by this driver: delete it by the volume API.",
                           label, id);
    controller_name_in(mark, &cluster, &length);
    if (length == 0 || (strlen(ours) == length && memcmp(ours, cluster, length) == 0))
        return 0;
    return grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                       "The %s %s was created for cluster %.*s, which is not this one.", label, id,
                       (int)length, cluster);
}

const char *controller_mark_in(const json_t *metadata) {
    return json_text_of(metadata, CSI_NAME_KEY);
}

const char *controller_query(struct arena *arena, const char *mark) {
    const char *pair = arena_format(arena, "{'" CSI_NAME_KEY "': %s}", quoted(arena, mark));

    return arena_join(arena, "metadata=", http_encode(arena, pair), NULL);
}

bool controller_named(const json_t *metadata, const char *mark) {
    const char *have = controller_mark_in(metadata);

    return have && strcmp(have, mark) == 0;
}

bool controller_is_unreported(const json_t *metadata) {
    return json_text_of(metadata, CSI_UNREPORTED_KEY) != NULL;
}

/* ---- lists ---- */

unsigned controller_most(int32_t max_entries) {
    return max_entries > 0 && max_entries < ROWS_MOST ? (unsigned)max_entries : ROWS_MOST;
}

struct walk {
    const struct controller_list *list;
    struct arena *arena; /* the caller's */
    unsigned most, count;
    const char *marker; /* of the last kept row */
    bool more;
};

static int keep_page(struct walk *walk, const char *rows, unsigned got, struct error *err) {
    const struct controller_list *list = walk->list;

    for (unsigned i = 0; i < got; i++) {
        const char *row = rows + i * list->kind->row_size;
        int result;

        walk->more = walk->count == walk->most;
        result = walk->more ? 0 : list->keep(list->arg, row, err);
        if (walk->more || result != 0)
            return result;
        walk->count++;
        if (i + 1 == got || walk->count == walk->most)
            walk->marker = arena_text(walk->arena, *(const char *const *)row);
    }
    return 0;
}

int controller_collect(const struct client *api, struct arena *arena,
                       const struct controller_list *list, char **ret_next, struct error *err) {
    autoarena struct arena *page = arena_new();
    struct walk walk = { .list = list,
                         .arena = arena,
                         .most = controller_most(list->max_entries),
                         .marker = list->token && *list->token ? list->token : NULL };

    if (list->max_entries < 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "max_entries is negative.");
    for (;;) {
        /* one more than are kept: shows whether there is a next page */
        unsigned left = walk.most + 1 - walk.count, limit = left < PAGE_MOST ? left : PAGE_MOST;
        void *rows = NULL;
        int got = list->kind->page(api, page, list->query, walk.marker, limit, &rows, err), result;

        if (got < 0) {
            /* The API's errors for an invalid token, or for a marker row that is deleted
             * meanwhile. */
            if (walk.marker && (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_BAD_REQUEST))
                return grpc_refuse(err, GRPC_ABORTED,
                                   "%.64s no longer exists: the list cannot be continued from it.",
                                   walk.marker);
            return -1;
        }
        result = keep_page(&walk, rows, (unsigned)got < limit ? (unsigned)got : limit, err);
        if (result != 0)
            return result;
        if (got == 0 || walk.more)
            break;
        arena_reset(page);
    }
    if (ret_next)
        *ret_next = arena_text(arena, walk.more ? walk.marker : "");
    return 0;
}

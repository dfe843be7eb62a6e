#include "csi/controller/controller.private.h"

#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/nearest.h"
#include "common/words.h"

#include <string.h>
#include <time.h>

#define LONGEST_WAIT_US  (30 * SECOND_US)
#define SHORT_OF_US      (SECOND_US / 2) /* of the caller's deadline */
#define FIRST_PAUSE_US   20000
#define LONGEST_PAUSE_US 640000
#define ROWS_MOST        10000 /* in one answer, which clients take up to 4 MiB of */
#define PAGE_MOST        1000  /* what the API gives at once by default */

int controller_need(const char *text, const char *field, struct error *err) {
    return *text ? 0 : grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is missing.", field);
}

/* ---- refusals of the API ---- */

enum state { STEADY, PASSING, FAILED };

static enum state state_of(const char *status) {
    static const char *const passing[] = { "attaching", "detaching", "reserved" };

    if (strncmp(status, "error", strlen("error")) == 0)
        return FAILED;
    return words_have(passing, LENGTH(passing), status) ||
                   words_have(volume_kind.passing, volume_kind.passing_count, status)
               ? PASSING
               : STEADY;
}

#define OTHERWISE GRPC_CODES

/* What the service answers, and the state of the object then: the code that makes a sidecar call
 * again, or not. */
static enum grpc_code code_of(enum error_kind kind, enum state state, enum grpc_code otherwise) {
    static const struct {
        enum error_kind kind;
        enum state state;
        enum grpc_code code;
    } codes[] = {
        { ERROR_BAD_REQUEST, STEADY, OTHERWISE },     { ERROR_BAD_REQUEST, PASSING, GRPC_ABORTED },
        { ERROR_BAD_REQUEST, FAILED, GRPC_INTERNAL }, { ERROR_CONFLICT, STEADY, GRPC_ABORTED },
        { ERROR_CONFLICT, PASSING, GRPC_ABORTED },    { ERROR_CONFLICT, FAILED, GRPC_INTERNAL },
    };

    for (size_t i = 0; i < LENGTH(codes); i++)
        if (codes[i].kind == kind && codes[i].state == state)
            return codes[i].code == OTHERWISE ? otherwise : codes[i].code;
    return GRPC_OK; /* no refusal: its kind has a code */
}

static int refused(enum state state, enum grpc_code otherwise, struct error *err) {
    enum grpc_code code = code_of(err->kind, state, otherwise);

    return code == GRPC_OK ? -1 : grpc_refuse(err, code, "%s", err->message);
}

int controller_refused(const char *status, enum grpc_code otherwise, struct error *err) {
    return refused(state_of(status), otherwise, err);
}

int controller_refused_of(const struct client *api, struct arena *arena, char *const *ids,
                          size_t count, enum grpc_code otherwise, struct error *err) {
    enum state state = STEADY;
    struct error ignored;

    for (size_t i = 0; i < count && state == STEADY; i++) {
        struct remote_volume volume;

        if (controller_read(api, arena, &volume_kind, ids[i], &volume, &ignored) == 0)
            state = state_of(volume.status);
    }
    return refused(state, otherwise, err);
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
    static const struct backoff_limits pauses = { .first_us = FIRST_PAUSE_US,
                                                  .most_us = LONGEST_PAUSE_US };
    int64_t pause_us = backoff_pause_us(&pauses, patience->looks + 1);
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

bool controller_is_untold(const json_t *metadata) {
    return json_text_of(metadata, CSI_UNTOLD_KEY) != NULL;
}

int controller_tell(const struct client *api, struct arena *arena, const char *kind, const char *id,
                    struct error *err) {
    const struct client_call call = {
        .method = "DELETE",
        .path = arena_join(arena, "/", kind, NULL),
        .id = id,
        .behind = "/metadata/" CSI_UNTOLD_KEY,
        .done = { 200 },
    };
    struct http_answer answer;

    if (client_call(api, arena, &call, &answer, err) == 0)
        return 0;
    return err->kind == ERROR_NOT_FOUND ? 0 : -1; /* somebody else has told it */
}

/* ---- lists ---- */

static const char *id_of(const void *row) {
    return *(const char *const *)row;
}

/* What a token that is none, or the mark of a row that has gone meanwhile, makes the API say. */
static int page_refused(const char *marker, struct error *err) {
    if (marker && (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_BAD_REQUEST))
        return grpc_refuse(err, GRPC_ABORTED, "There is no %.64s any more to go on from.", marker);
    return -1;
}

unsigned controller_most(int32_t max_entries) {
    return max_entries > 0 && max_entries < ROWS_MOST ? (unsigned)max_entries : ROWS_MOST;
}

struct walk {
    const struct controller_list *list;
    struct arena *arena; /* the caller's */
    unsigned most, count;
    const char *marker; /* of the last row that was kept */
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
            walk->marker = arena_text(walk->arena, id_of(row));
    }
    return 0;
}

/* One more than are kept: is there a next one? */
static unsigned page_limit(const struct walk *walk) {
    unsigned left = walk->most + 1 - walk->count;

    return left < PAGE_MOST ? left : PAGE_MOST;
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
        unsigned limit = page_limit(&walk);
        void *rows = NULL;
        int got = list->kind->page(api, page, list->query, walk.marker, limit, &rows, err), result;

        if (got < 0)
            return page_refused(walk.marker, err);
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

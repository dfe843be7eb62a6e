#include "declared/progress.h"

#include "common/clock.h"
#include "declared/tree.h"

#include <stdio.h>
#include <time.h>

#define BYTES_MOST ((int64_t)1 << 50)

/* clang-format off */
static const char *const operations[] = {
    "Rebuild", "Resynchronization", "Comparison", "Revert", "SnapshotCopy", "Clone", NULL,
};

const struct schema_field progress_fields[] = {
    { "operation", SCHEMA_WORD, SCHEMA_REQUIRED, .words = operations, .about = "The kind of operation." },
    { "replicaId", SCHEMA_TEXT, .about = "The replica that is rebuilt, or copied to." },
    { "percent", SCHEMA_INT, SCHEMA_REQUIRED, .max = 100, .about = "Progress in percent." },
    { "doneBytes", SCHEMA_INT, SCHEMA_REQUIRED, .about = "Bytes completed." },
    { "totalBytes", SCHEMA_INT, SCHEMA_REQUIRED, .about = "Bytes in total." },
    { "bytesPerSecond", SCHEMA_INT, .about = "Its rate since it was first reported." },
    { "remainingSeconds", SCHEMA_INT, .about = "The estimated time to completion at this rate." },
    { "startedAt", SCHEMA_TEXT, SCHEMA_REQUIRED, .about = "The time of the first report." },
    { "startedBytes", SCHEMA_INT, SCHEMA_REQUIRED, .about = "Bytes completed at the first report." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

struct operation {
    const char *name, *replica; /* NULL: of none */
    int64_t done, total;
};

/* The same operation in the previous list, if it has not restarted; NULL. */
static const json_t *find_before(const json_t *list, const struct operation *operation) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        if (text_is(json_text_of(one, "operation"), operation->name) &&
            text_is(json_text_of(one, "replicaId"), operation->replica) &&
            json_int_at(one, "doneBytes") <= operation->done)
            return one;
    }
    return NULL;
}

static void put_rate(json_t *entry, const struct operation *operation, int64_t now_us) {
    struct tm parts = { 0 };
    const char *started = json_text_of(entry, "startedAt");
    const char *end = started ? strptime(started, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    bool is_valid = end && (*end == 'Z' || *end == '\0');
    int64_t elapsed_s = now_us / SECOND_US - (is_valid ? timegm(&parts) : 0);
    int64_t moved = operation->done - json_int_at(entry, "startedBytes"), rate;

    if (elapsed_s <= 0 || moved < elapsed_s)
        return;
    rate = moved / elapsed_s;
    json_object_set_new(entry, "bytesPerSecond", json_integer(rate));
    json_object_set_new(entry, "remainingSeconds",
                        json_integer((operation->total - operation->done + rate - 1) / rate));
}

static void put(json_t *list, const json_t *before, const struct operation *operation,
                int64_t now_us) {
    const json_t *old = find_before(before, operation);
    char clock[CLOCK_TEXT_SIZE], now[CLOCK_TEXT_SIZE + 1];
    json_t *entry;

    if (operation->total <= 0 || operation->total > BYTES_MOST || operation->done < 0 ||
        operation->done > operation->total)
        return;
    snprintf(now, sizeof now, "%.19sZ", clock_text(now_us, clock));
    entry = json_pack("{s:s, s:s*, s:I, s:I, s:I, s:s, s:I}", "operation", operation->name,
                      "replicaId", operation->replica, "percent",
                      (json_int_t)(operation->done * 100 / operation->total), "doneBytes",
                      (json_int_t)operation->done, "totalBytes", (json_int_t)operation->total,
                      "startedAt", old ? json_text_of(old, "startedAt") : now, "startedBytes",
                      (json_int_t)(old ? json_int_at(old, "startedBytes") : operation->done));
    put_rate(entry, operation, now_us);
    json_array_append_new(list, entry);
}

static struct operation operation_of(const char *name, const char *replica, const json_t *object) {
    return (struct operation){ name, replica, json_int_at(object, "doneBytes"),
                               json_int_at(object, "totalBytes") };
}

json_t *progress_of(struct arena *arena, const json_t *before, const json_t *status,
                    int64_t now_us) {
    const json_t *replicas = json_object_get(status, "replicaStatuses");
    const json_t *scrub = json_object_get(status, "scrub");
    bool resynchronizes = json_true_at(scrub, "resynchronizing");
    const struct operation others[] = {
        operation_of(resynchronizes ? "Resynchronization" : "Comparison", NULL, scrub),
        operation_of("Revert", NULL, json_object_get(status, "revert")),
    };
    json_t *list = json_keep(arena, json_array());

    for (size_t i = 0; i < json_array_size(replicas) && i < PROGRESS_MOST - 2; i++) {
        const json_t *replica = json_array_get(replicas, i);
        struct operation rebuild =
            operation_of("Rebuild", json_text_of(replica, "replicaId"), replica);

        put(list, before, &rebuild, now_us);
    }
    for (size_t i = 0; i < 2; i++)
        put(list, before, &others[i], now_us);
    return json_array_size(list) > 0 ? list : NULL;
}

json_t *progress_of_replica(struct arena *arena, const json_t *before, const char *replica,
                            const json_t *status, int64_t now_us) {
    const json_t *copying = json_object_get(status, "copying");
    const struct operation copy =
        operation_of(json_true_at(copying, "clone") ? "Clone" : "SnapshotCopy", replica, copying);
    json_t *list = json_keep(arena, json_array());

    put(list, before, &copy, now_us);
    return json_array_size(list) > 0 ? list : NULL;
}

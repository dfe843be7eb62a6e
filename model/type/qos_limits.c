#include "model/type/qos_limits.h"

#include "model/type/qos_scale.h"
#include "json/json.h"

#include <string.h>

struct held {
    const char *volume_id, *qos_id;
    int64_t size_gb;
};

static int read_held(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    (void)err;
    *(struct held *)item = (struct held){
        .volume_id = db_copy(rows, 0, work->arena),
        .size_gb = db_int(rows, 1),
        .qos_id = db_copy(rows, 2, work->arena),
    };
    return 0;
}

static struct io_limits limits_of(struct work *work, const struct pairs *specs, int64_t size_gb) {
    const json_t *scaled = json_keep(work->arena, qos_scaled(specs, size_gb));
    struct io_limits limits = { 0 };

    for (int i = 0; i < IO_LIMITS; i++) {
        const json_t *value = json_object_get(scaled, io_limit_names[i]);
        int64_t number = json_integer_value(value);

        /* A value that is no number cannot be enforced. */
        if (json_is_string(value) && !json_digits(json_string_value(value), &number))
            number = 0;
        limits.of[i] = number > 0 ? number : 0;
    }
    return limits;
}

int qos_limits_on_host(struct work *work, const char *host, struct qos_limits **ret,
                       struct error *err) {
    struct held *held = NULL;
    /* Those of the same specs follow each other. */
    struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT DISTINCT v.id, v.size_gb, q.id FROM attachments a "
                 "JOIN volumes v ON v.id = a.volume_id "
                 "JOIN volume_types t ON t.id = v.volume_type_id "
                 "JOIN qos_specs q ON q.id = t.qos_specs_id "
                 "WHERE a.attached_host = $1 AND q.consumer <> '" QOS_FRONT_END "' "
                 "ORDER BY q.id, v.id",
                 DB_TEXT(host));
    int count = query_all(work, rows, read_held, &held, err), kept = 0;
    struct qos_limits *list;
    struct qos_specs qos = { .id = "" };

    if (count < 0)
        return -1;
    list = arena_alloc(work->arena, (size_t)count * sizeof *list + 1);
    for (int i = 0; i < count; i++) {
        if (strcmp(qos.id, held[i].qos_id) != 0 &&
            qos_specs_get(work, held[i].qos_id, &qos, err) < 0)
            return -1;
        list[kept].volume_id = held[i].volume_id;
        list[kept].limits = limits_of(work, &qos.specs, held[i].size_gb);
        kept += io_limits_any(&list[kept].limits);
    }
    *ret = list;
    return kept;
}

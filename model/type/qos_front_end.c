#include "model/type/qos_front_end.h"

#include "model/type/qos_scale.h"
#include "json/json.h"

#include <string.h>

/* 1 found; 0 there are none, or they are not for the front-end. */
static int qos_find(struct work *work, const char *type_id, struct qos_specs *ret,
                    struct error *err) {
    int found = type_id ? qos_specs_of_type(work, type_id, ret, err) : 0;

    return found > 0 && strcmp(ret->consumer, QOS_BACK_END) == 0 ? 0 : found;
}

int qos_front_end(struct work *work, const struct volume *volume, json_t **ret, struct error *err) {
    struct qos_specs qos;
    int found = qos_find(work, volume->type_id, &qos, err);

    if (found < 0)
        return -1;
    *ret = json_keep(work->arena, found ? qos_scaled(&qos.specs, volume->size_gb) : json_null());
    return 0;
}

int qos_front_end_check_retype(struct work *work, const struct volume *volume,
                               const struct volume_type *type, struct error *err) {
    struct qos_specs now, then;
    int has = qos_find(work, volume->type_id, &now, err);
    int gets = has < 0 ? -1 : qos_find(work, type->id, &then, err);

    if (gets < 0)
        return -1;
    if (has == gets && (!has || strcmp(now.id, then.id) == 0))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input received: Retype cannot change front-end qos specs for in-use "
                     "volume: %s.",
                     volume->id);
}

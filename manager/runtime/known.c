#include "manager/runtime/known.h"

#include "model/volume/volume.h"

struct question {
    const char *host, *location, *name_id;
};

static int knows_body(struct work *work, void *arg, struct error *err) {
    const struct question *question = arg;

    return volume_recorded(work, question->host, question->location, question->name_id, err);
}

static int has_volume(const struct driver_backend *backend, const char *location,
                      const char *name_id) {
    const struct known *known = backend->has_volume_arg;
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(known->settings, arena);
    struct question question = { known->host, location, name_id };
    struct error err;

    return work_read(known->db, &base, knows_body, &question, &err);
}

void known_set(struct driver_backend *backend, struct known *known) {
    backend->has_volume = has_volume;
    backend->has_volume_arg = known;
}

/*
 * The filter around optional functions.
 */
#include "drivers/fault_call.private.h"

enum driver_outcome fault_create_snapshot(void *handle, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct driver_created *ret, struct error *err) {
    struct driver_created created = { 0 };
    int result = PASS_ON_OPTIONAL(handle, create_snapshot, volume, volume, snapshot, progress,
                                  &created, err);

    if (result == DRIVER_DONE)
        *ret = created;
    return (enum driver_outcome)result;
}

enum driver_outcome fault_delete_snapshot(void *handle, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct error *err) {
    return (enum driver_outcome)PASS_ON_OPTIONAL(handle, delete_snapshot, volume, volume, snapshot,
                                                 progress, err);
}

int fault_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot, bool deletes,
                         struct driver_assist *ret, struct error *err) {
    struct driver_assist assist = { 0 };
    int result =
        PASS_ON_OPTIONAL(handle, prepare_assist, volume, volume, snapshot, deletes, &assist, err);

    if (result >= 0)
        *ret = assist;
    return result;
}

int fault_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          enum driver_reported told, struct driver_created *ret,
                          struct error *err) {
    struct driver_created created = { 0 };
    int result = PASS_ON_OPTIONAL(handle, complete_assist, volume, volume, snapshot, deletes, told,
                                  &created, err);

    if (result > 0)
        *ret = created;
    return result;
}

int fault_list_snapshots(void *handle, struct arena *arena,
                         void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                         struct error *err) {
    return PASS_ON_OPTIONAL(handle, list_snapshots, NULL, found, arg, err);
}

int fault_list_drafts(void *handle, struct arena *arena,
                      void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                      struct error *err) {
    return PASS_ON_OPTIONAL(handle, list_drafts, NULL, found, arg, err);
}

int fault_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const struct driver_volume *source, const struct driver_progress *progress,
                       struct driver_created *ret, struct error *err) {
    struct driver_created created = { 0 };
    int result =
        PASS_ON_OPTIONAL(handle, clone_volume, volume, volume, source, progress, &created, err);

    if (result == 0)
        *ret = created;
    return result;
}

int fault_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *source,
                         const struct driver_progress *progress, struct driver_created *ret,
                         struct error *err) {
    struct driver_created created = { 0 };
    int result =
        PASS_ON_OPTIONAL(handle, clone_snapshot, volume, volume, source, progress, &created, err);

    if (result == 0)
        *ret = created;
    return result;
}

int fault_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_snapshot *snapshot,
                        const struct driver_progress *progress, struct error *err) {
    return PASS_ON_OPTIONAL(handle, revert_volume, volume, volume, snapshot, progress, err);
}

int fault_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *source_name, int64_t *ret_bytes, struct error *err) {
    int64_t bytes = 0;
    int result = PASS_ON_OPTIONAL(handle, get_manageable, volume, volume, source_name, &bytes, err);

    if (result == 0)
        *ret_bytes = bytes;
    return result;
}

int fault_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const char *source_name, struct driver_created *ret, struct error *err) {
    struct driver_created created = { 0 };
    int result =
        PASS_ON_OPTIONAL(handle, manage_volume, volume, volume, source_name, &created, err);

    if (result == 0)
        *ret = created;
    return result;
}

int fault_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                          struct error *err) {
    return PASS_ON_OPTIONAL(handle, unmanage_volume, volume, volume, err);
}

int fault_list_manageable(void *handle, struct arena *arena, const char *pool,
                          void (*found)(void *arg, const struct driver_candidate *candidate),
                          void *arg, struct error *err) {
    return PASS_ON_OPTIONAL(handle, list_manageable, NULL, pool, found, arg, err);
}

int fault_get_manageable_snapshot(void *handle, struct arena *arena,
                                  const struct driver_volume *volume,
                                  const struct driver_snapshot *snapshot, const char *source_name,
                                  struct driver_candidate *ret, struct error *err) {
    struct driver_candidate found = { 0 };
    int result = PASS_ON_OPTIONAL(handle, get_manageable_snapshot, volume, volume, snapshot,
                                  source_name, &found, err);

    if (result == 0)
        *ret = found;
    return result;
}

int fault_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot,
                          const struct driver_candidate *source, struct driver_created *ret,
                          struct error *err) {
    struct driver_created created = { 0 };
    int result =
        PASS_ON_OPTIONAL(handle, manage_snapshot, volume, volume, snapshot, source, &created, err);

    if (result == 0)
        *ret = created;
    return result;
}

int fault_unmanage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_snapshot *snapshot, struct error *err) {
    return PASS_ON_OPTIONAL(handle, unmanage_snapshot, volume, volume, snapshot, err);
}

int fault_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                    void (*found)(void *arg,
                                                  const struct driver_candidate *candidate),
                                    void *arg, struct error *err) {
    return PASS_ON_OPTIONAL(handle, list_manageable_snapshots, NULL, pool, found, arg, err);
}

int fault_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                    int64_t *ret_bytes, struct error *err) {
    int64_t bytes = 0;
    int result = PASS_ON_OPTIONAL(handle, get_usage, volume, volume, &bytes, err);

    if (result == 0)
        *ret_bytes = bytes;
    return result;
}

int fault_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_progress *progress, int64_t *ret_before,
                         struct error *err) {
    return PASS_ON_OPTIONAL(handle, reclaim_volume, volume, volume, progress, ret_before, err);
}

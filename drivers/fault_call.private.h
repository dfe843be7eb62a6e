/*
 * The filter around a call of the next driver.
 */
#pragma once

#include "drivers/fault_plan.h"

#include <stdatomic.h>

struct fault {
    const struct driver *next;
    void *next_handle;
    fault_decide *decide;
    void *decide_arg;
    atomic_bool crashed;
    struct fault_plan plan; /* used when the owner gives no decision function */
};

/* 0 with the action after the call, or -1: the driver is not called. */
int fault_before(struct fault *fault, const char *call, const struct driver_volume *volume,
                 enum fault_action *ret_action, struct error *err);

/* The result of the driver as reported to the caller. */
int fault_after(struct fault *fault, const char *call, enum fault_action action, int result,
                struct error *err);

/* A call of a function whose outputs need no list: returns its result, or -1 and `err`. Outputs are
 * passed on only with a reported success. */
#define PASS_ON(handle, call, volume, ...)                                              \
    __extension__({                                                                     \
        struct fault *fault_ = handle;                                                  \
        enum fault_action action_;                                                      \
        int result_ = fault_before(fault_, #call, volume, &action_, err);               \
                                                                                        \
        if (result_ == 0) {                                                             \
            result_ = (int)fault_->next->call(fault_->next_handle, arena, __VA_ARGS__); \
            result_ = fault_after(fault_, #call, action_, result_, err);                \
        }                                                                               \
        result_;                                                                        \
    })

/* The same for a function that not every driver has. */
#define PASS_ON_OPTIONAL(handle, call, volume, ...)   \
    (((const struct fault *)(handle))->next->call     \
         ? PASS_ON(handle, call, volume, __VA_ARGS__) \
         : error_set(err, ERROR_BAD_REQUEST, "The driver behind the filter cannot do %s.", #call))

/* Optional functions (fault_optional.c). */
enum driver_outcome fault_create_snapshot(void *handle, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct driver_created *ret, struct error *err);
enum driver_outcome fault_delete_snapshot(void *handle, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct error *err);
int fault_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot, bool deletes,
                         struct driver_assist *ret, struct error *err);
int fault_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          enum driver_reported told, struct driver_created *ret, struct error *err);
int fault_list_snapshots(void *handle, struct arena *arena,
                         void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                         struct error *err);
int fault_list_drafts(void *handle, struct arena *arena,
                      void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                      struct error *err);
int fault_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const struct driver_volume *source, const struct driver_progress *progress,
                       struct driver_created *ret, struct error *err);
int fault_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *source,
                         const struct driver_progress *progress, struct driver_created *ret,
                         struct error *err);
int fault_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_snapshot *snapshot,
                        const struct driver_progress *progress, struct error *err);
int fault_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *source_name, int64_t *ret_bytes, struct error *err);
int fault_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const char *source_name, struct driver_created *ret, struct error *err);
int fault_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                          struct error *err);
int fault_list_manageable(void *handle, struct arena *arena, const char *pool,
                          void (*found)(void *arg, const struct driver_candidate *candidate),
                          void *arg, struct error *err);
int fault_get_manageable_snapshot(void *handle, struct arena *arena,
                                  const struct driver_volume *volume,
                                  const struct driver_snapshot *snapshot, const char *source_name,
                                  struct driver_candidate *ret, struct error *err);
int fault_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot,
                          const struct driver_candidate *source, struct driver_created *ret,
                          struct error *err);
int fault_unmanage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_snapshot *snapshot, struct error *err);
int fault_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                    void (*found)(void *arg,
                                                  const struct driver_candidate *candidate),
                                    void *arg, struct error *err);
int fault_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                    int64_t *ret_bytes, struct error *err);
int fault_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_progress *progress, int64_t *ret_before,
                         struct error *err);

/*
 * Short cuts of the tests about extending.
 */
#pragma once

#include "tests/lib/check_main.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/world.h"

#include <string.h>

#define EXTEND(size)    "{\"os-extend\": {\"new_size\": " #size "}}"
#define COMPLETE_OK     "{\"os-extend_volume_completion\": {\"error\": false}}"
#define COMPLETE_ERROR  "{\"os-extend_volume_completion\": {\"error\": true}}"
#define COMPUTE_MESSAGE "VOLUME_VOLUME_007_009"
#define DRIVER_MESSAGE  "VOLUME_VOLUME_007_010"

/* A volume of 2 GiB, attached to one instance whose guest holds the image; extend to 5 GiB is
 * accepted by the compute side, whose report is awaited. */
static inline const char *pending_extend(struct world *world) {
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "extending");
    ck_assert_uint_eq(world->event_count, 1);
    return id;
}

/* The guest's disk grows, as the hypervisor does it. */
static inline void guest_grows(struct world *world, const char *id, int64_t size_gb) {
    ck_assert(memory_grow(world->memory, id, size_gb * GIB));
}

static inline const char *metadata_of(struct world *world, const char *id, const char *key) {
    return json_string_value(
        json_object_get(json_object_get(world_show(world, id), "metadata"), key));
}

#define assert_volume(world, id, status_, size_)            \
    do {                                                    \
        ck_assert_str_eq(world_status(world, id), status_); \
        ck_assert_int_eq(world_size(world, id), size_);     \
    } while (0)

#define assert_quota(world, in_use_, reserved_)                          \
    do {                                                                 \
        ck_assert_int_eq(world_in_use(world, "gigabytes"), in_use_);     \
        ck_assert_int_eq(world_reserved(world, "gigabytes"), reserved_); \
    } while (0)

/* Nothing of an extend is left: keys, operation, reservation. */
#define assert_settled(world)                                                             \
    do {                                                                                  \
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE "      \
                                            "kind = 'extend'"),                           \
                         0);                                                              \
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM reservations"), 0);     \
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata " \
                                            "WHERE key LIKE 'extend%'"),                  \
                         0);                                                              \
        ck_assert_int_eq(world_check(world), 0);                                          \
    } while (0)

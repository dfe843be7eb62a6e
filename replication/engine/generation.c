#include "replication/engine/generation.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/md5.h"
#include "json/json.h"
#include "json/out.h"

#include <stdio.h>
#include <string.h>

#define LARGEST        (INT64_C(1) << 60)
#define RECOVERY_SHIFT 32 /* bits of a number for the generations between two forced recoveries */

bool generation_same(const struct generation_id *a, const struct generation_id *b) {
    return a->number == b->number && strcmp(a->nonce, b->nonce) == 0;
}

bool generation_has(const struct generation *generation, const char *replica) {
    for (unsigned i = 0; i < generation->count; i++) {
        if (strcmp(generation->members[i], replica) == 0)
            return true;
    }
    return false;
}

unsigned generation_needed(const struct generation *generation) {
    assert(generation->wanted <= REPLICAS_MOST);
    return generation->wanted / 2 + 1;
}

int64_t generation_floor(int64_t recovery) {
    assert(recovery >= 0 && recovery <= RECOVERIES_MOST);
    return recovery << RECOVERY_SHIFT;
}

void generation_add(struct generation *generation, const char *replica) {
    assert(!generation_has(generation, replica));
    assert(generation->count < REPLICAS_MOST && strlen(replica) < UUID_SIZE);
    strcpy(generation->members[generation->count++], replica);
}

bool generation_follows(const struct generation *before, const struct generation *next) {
    unsigned removed = 0;

    assert(before->count <= REPLICAS_MOST && next->count <= REPLICAS_MOST);
    for (unsigned i = 0; i < before->count; i++)
        removed += !generation_has(next, before->members[i]);
    return removed < generation_needed(before) && next->count >= generation_needed(next) &&
           next->count <= next->wanted;
}

void generation_first(const char *volume, int64_t size_bytes, const char *const *replicas,
                      unsigned count, struct generation *ret) {
    char digest[MD5_HEX_SIZE];

    assert(count > 0 && count <= REPLICAS_MOST);
    assert(size_bytes >= 0 && size_bytes <= VOLUME_BYTES_MOST);
    md5_hex(volume, strlen(volume), digest);
    *ret = (struct generation){ .wanted = count, .size_bytes = size_bytes, .id.number = 1 };
    snprintf(ret->id.nonce, NONCE_SIZE, "%.16s", digest);
    for (unsigned i = 0; i < count; i++)
        generation_add(ret, replicas[i]);
}

void generation_next(const struct generation *base, const struct clock *clock,
                     struct generation *ret) {
    uint64_t nonce;

    clock->random(clock->arg, &nonce, sizeof(nonce));
    *ret = (struct generation){ .base = base->id,
                                .wanted = base->wanted,
                                .size_bytes = base->size_bytes,
                                .id.number = base->id.number + 1 };
    snprintf(ret->id.nonce, NONCE_SIZE, "%016jx", (uintmax_t)nonce);
}

void generation_recover(const struct generation *base, int64_t recovery, const char *replica,
                        const struct clock *clock, struct generation *ret) {
    assert(recovery > 0);
    generation_next(base, clock, ret);
    ret->id.number = generation_floor(recovery);
    assert(ret->id.number > base->id.number); /* or earlier writers count */
    ret->wanted = 1;
    generation_add(ret, replica);
}

/* ---- as text ---- */

static const char *const marks[] = { "empty", "dirty", "disputed", "clean", NULL };

const char *replica_state_text(struct arena *arena, const struct replica_state *state) {
    const struct generation *generation = &state->generation;
    char digest[MD5_HEX_SIZE];
    struct json_out out;
    const char *line;

    assert(state->mark <= REPLICA_CLEAN && generation->count <= REPLICAS_MOST);
    json_out_init(&out, arena, 1024);
    out_begin_object(&out);
    out_put_text(&out, "volume", state->volume);
    out_put_text(&out, "replica", state->replica);
    out_put_text(&out, "mark", marks[state->mark]);
    out_put_int(&out, "generation", generation->id.number);
    out_put_text(&out, "nonce", generation->id.nonce);
    out_put_int(&out, "base_generation", generation->base.number);
    out_put_text(&out, "base_nonce", generation->base.nonce);
    out_put_int(&out, "wanted", generation->wanted);
    out_put_int(&out, "size_bytes", generation->size_bytes);
    out_key(&out, "members");
    out_begin_array(&out);
    for (unsigned i = 0; i < generation->count; i++)
        out_text(&out, generation->members[i]);
    out_end_array(&out);
    out_end_object(&out);
    line = json_out_text(&out);
    md5_hex(line, strlen(line), digest);
    return arena_format(arena, "%s\n%s\n", line, digest);
}

struct stored {
    const char *volume, *replica, *mark, *nonce, *base_nonce;
    int64_t number, base_number, wanted, size_bytes;
    const json_t *members;
};

static const struct field fields[] = {
    FIELD_UUID(struct stored, volume, "volume", FIELD_REQUIRED),
    FIELD_UUID(struct stored, replica, "replica", FIELD_REQUIRED),
    FIELD_WORD(struct stored, mark, "mark", FIELD_REQUIRED, marks),
    FIELD_INT(struct stored, number, "generation", FIELD_REQUIRED, 0, LARGEST),
    FIELD_TEXT(struct stored, nonce, "nonce", FIELD_REQUIRED, 0, NONCE_SIZE - 1),
    FIELD_INT(struct stored, base_number, "base_generation", FIELD_REQUIRED, 0, LARGEST),
    FIELD_TEXT(struct stored, base_nonce, "base_nonce", FIELD_REQUIRED, 0, NONCE_SIZE - 1),
    FIELD_INT(struct stored, wanted, "wanted", FIELD_REQUIRED, 0, REPLICAS_MOST),
    FIELD_INT(struct stored, size_bytes, "size_bytes", FIELD_REQUIRED, 0, VOLUME_BYTES_MOST),
    { .name = "members",
      .type = FIELD_TYPE_LIST,
      .flags = FIELD_REQUIRED,
      .offset = offsetof(struct stored, members),
      .max = REPLICAS_MOST },
    FIELDS_END
};

/* The line before its checksum; NULL: they do not match. */
static const char *checked_line(struct arena *arena, const char *text, size_t size) {
    const char *end = memchr(text, '\n', size);
    char digest[MD5_HEX_SIZE];

    if (!end || size != (size_t)(end - text) + 1 + MD5_HEX_SIZE || text[size - 1] != '\n')
        return NULL;
    md5_hex(text, (size_t)(end - text), digest);
    if (memcmp(end + 1, digest, MD5_HEX_SIZE - 1) != 0)
        return NULL;
    return arena_text_n(arena, text, (size_t)(end - text));
}

/* -1: it has an invalid member. */
static int set_state(const struct stored *stored, struct replica_state *ret) {
    struct generation *generation = &ret->generation;

    assert(stored->wanted >= 0 && stored->wanted <= REPLICAS_MOST);
    *ret = (struct replica_state){ .generation = { .wanted = (unsigned)stored->wanted,
                                                   .size_bytes = stored->size_bytes,
                                                   .id.number = stored->number,
                                                   .base.number = stored->base_number } };
    while (strcmp(marks[ret->mark], stored->mark) != 0)
        ret->mark++;
    strcpy(ret->volume, stored->volume);
    strcpy(ret->replica, stored->replica);
    snprintf(generation->id.nonce, NONCE_SIZE, "%s", stored->nonce);
    snprintf(generation->base.nonce, NONCE_SIZE, "%s", stored->base_nonce);
    for (size_t i = 0; i < json_array_size(stored->members); i++) {
        const char *member = json_string_value(json_array_get(stored->members, i));
        char uid[UUID_SIZE];

        if (!member || !uuid_parse(member, uid) || generation_has(generation, uid))
            return -1;
        generation_add(generation, uid);
    }
    return 0;
}

int replica_state_parse(struct arena *arena, const char *text, size_t size,
                        struct replica_state *ret, struct error *err) {
    const char *line = checked_line(arena, text, size);
    struct stored stored = { 0 };
    struct replica_state state;
    struct error reason;
    json_t *object;

    if (!line)
        return error_set(err, ERROR_BACKEND, "the state of the replica is damaged");
    object = json_parse(arena, line, strlen(line), &reason);
    if (!object || json_decode(arena, object, "state", fields, 0, true, &stored, &reason) < 0)
        return error_set(err, ERROR_BACKEND, "the state of the replica: %.300s", reason.message);
    if (set_state(&stored, &state) < 0)
        return error_set(err, ERROR_BACKEND, "the state of the replica has an invalid member");
    *ret = state;
    return 0;
}

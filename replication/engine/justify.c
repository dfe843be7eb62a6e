#include "replication/engine/justify.h"

#include "common/assert.h"

#include <string.h>

static bool is_justified(const struct justify_version *versions, unsigned count,
                         const unsigned char *content, unsigned sector) {
    uint32_t sum = write_log_sum_of(content + (size_t)sector * JUSTIFY_SECTOR, JUSTIFY_SECTOR);
    bool justified = false;

    for (unsigned i = 0; i < count; i++) {
        const struct write_log_block *logged = versions[i].logged;

        justified |=
            logged && (logged->mask & logged->known) >> sector & 1 && logged->sums[sector] == sum;
    }
    return justified;
}

/* NULL: none. */
static const struct justify_version *choose(const struct justify_version *versions, unsigned count,
                                            unsigned needed, unsigned sector) {
    const size_t at = (size_t)sector * JUSTIFY_SECTOR;

    assert(needed > 0 && needed <= REPLICAS_MOST);
    for (unsigned i = 0; i < count; i++) {
        unsigned equal = 0;

        for (unsigned j = 0; j < count; j++)
            equal +=
                memcmp(versions[i].content + at, versions[j].content + at, JUSTIFY_SECTOR) == 0;
        if (equal >= needed)
            return &versions[i];
    }
    for (unsigned i = 0; i < count; i++) {
        if (is_justified(versions, count, versions[i].content, sector))
            return &versions[i];
    }
    return NULL;
}

enum justify_outcome justify(const struct justify_version *versions, unsigned count,
                             unsigned needed, size_t size, unsigned char *ret) {
    bool equal = true;

    assert(count > 0 && size <= JUSTIFY_BLOCK);
    for (unsigned i = 1; i < count; i++)
        equal &= memcmp(versions[0].content, versions[i].content, size) == 0;
    if (equal)
        return JUSTIFY_EQUAL;
    for (unsigned sector = 0; sector < size / JUSTIFY_SECTOR; sector++) {
        const struct justify_version *chosen = choose(versions, count, needed, sector);
        size_t at = (size_t)sector * JUSTIFY_SECTOR;

        if (!chosen)
            return JUSTIFY_UNDECIDED;
        memcpy(ret + at, chosen->content + at, JUSTIFY_SECTOR);
    }
    return JUSTIFY_CHOSEN;
}

/*
 * Contents that are copied as they are: disks with a partition table, and LUKS.
 */
#include "common/cleanup.h"
#include "data/image_inspect.private.h"

#include <string.h>

/* ---- partition tables ---- */

enum {
    SECTOR = 512,
    SIGNATURE = 510,
    ENTRIES = 446,
    ENTRY_SIZE = 16,
    ENTRY_COUNT = 4,
    ENTRY_TYPE = 4,
    ENTRY_FIRST_SECTOR = 8,
    BOOTABLE = 0x80,
    PROTECTIVE = 0xee,
};

bool image_has_partitions(const struct image_bytes *image) {
    static const struct {
        unsigned at;
        const char *name;
    } file_systems[] = { { 3, "NTFS    " }, { 3, "EXFAT   " }, { 54, "FAT" }, { 82, "FAT" } };
    unsigned char sector[SECTOR];

    if (!image_bytes_get(image, sector, sizeof(sector), 0) || sector[SIGNATURE] != 0x55 ||
        sector[SIGNATURE + 1] != 0xaa)
        return false;
    /* Their boot sectors have the same signature, and code where the entries would be. */
    for (size_t i = 0; i < LENGTH(file_systems); i++)
        if (memcmp(sector + file_systems[i].at, file_systems[i].name,
                   strlen(file_systems[i].name)) == 0)
            return false;
    return true;
}

const char *image_check_partitions(const struct image_bytes *image, uint64_t *ret_bytes) {
    static const unsigned char gpt_start[] = { 0x00, 0x02, 0x00 };
    unsigned char sector[SECTOR];
    unsigned partitions = 0;
    bool protective = false;

    if (!image_bytes_get(image, sector, sizeof(sector), 0))
        return IMAGE_WRONG_HEADER;
    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        const unsigned char *entry = sector + ENTRIES + (size_t)i * ENTRY_SIZE;

        if (entry[0] != 0 && entry[0] != BOOTABLE)
            return "has a partition table with an impossible boot flag";
        if (entry[ENTRY_TYPE] == 0)
            continue;
        partitions++;
        if (entry[ENTRY_TYPE] != PROTECTIVE)
            continue;
        /* that of a GPT is alone, and has the fixed start */
        if (i != 0 || memcmp(entry + 1, gpt_start, sizeof(gpt_start)) != 0 ||
            image_bytes_little(entry + ENTRY_FIRST_SECTOR, 4) != 1)
            return "has an impossible protective partition";
        protective = true;
    }
    if (partitions == 0 || (protective && partitions > 1))
        return "has an impossible partition table";
    *ret_bytes = (uint64_t)image->size;
    return NULL;
}

/* ---- LUKS ---- */

enum {
    LUKS_HEADER = 592,
    LUKS_VERSION = 6,
    LUKS_DIGEST_ITERATIONS = 164,
    LUKS_SLOTS = 208,
    LUKS_SLOT_SIZE = 48,
    LUKS_SLOT_COUNT = 8,
};

#define LUKS_SLOT_ACTIVE     0x00ac71f3U
#define LUKS_ITERATIONS_MOST 12000000

const char *image_check_luks(const struct image_bytes *image, uint64_t *ret_bytes) {
    unsigned char header[LUKS_HEADER];
    uint64_t iterations;

    if (!image_bytes_get(image, header, sizeof(header), 0))
        return IMAGE_WRONG_HEADER;
    if (image_bytes_big(header + LUKS_VERSION, 2) != 1)
        return "has a LUKS version that is not supported";
    iterations = image_bytes_big(header + LUKS_DIGEST_ITERATIONS, 4);
    for (unsigned i = 0; i < LUKS_SLOT_COUNT; i++) {
        const unsigned char *slot = header + LUKS_SLOTS + (size_t)i * LUKS_SLOT_SIZE;

        if (image_bytes_big(slot, 4) == LUKS_SLOT_ACTIVE)
            iterations += image_bytes_big(slot + 4, 4);
    }
    if (iterations > LUKS_ITERATIONS_MOST)
        return "has a LUKS header with too many iterations";
    *ret_bytes = (uint64_t)image->size;
    return NULL;
}

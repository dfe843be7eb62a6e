/*
 * The formats of Virtual PC, Hyper-V, VirtualBox and Parallels: none may have a parent.
 */
#include "data/image_inspect.private.h"

#include <string.h>

/* ---- VHD: a copy of the footer at the start; big-endian ---- */

enum {
    VHD_FOOTER = 512,
    VHD_HEADER_AT = 16,
    VHD_SIZE = 48,
    VHD_TYPE = 60,
    VHD_DYNAMIC = 3,
    VHD_DIFFERENCING = 4,
};

/* The header of a dynamic disk. */
enum { VHD_HEADER = 1024, VHD_TABLE_AT = 16, VHD_ENTRIES = 28 };

/* A reader allocates as much as the table of blocks states. */
static bool is_within(const struct image_bytes *image, uint64_t at, uint64_t entries) {
    return at <= (uint64_t)image->size && entries * 4 <= (uint64_t)image->size - at;
}

const char *image_check_vhd(const struct image_bytes *image, uint64_t *ret_bytes) {
    unsigned char footer[VHD_FOOTER], header[VHD_HEADER];
    uint64_t type;

    if (!image_bytes_get(image, footer, sizeof(footer), 0))
        return IMAGE_WRONG_HEADER;
    type = image_bytes_big(footer + VHD_TYPE, 4);
    if (type == VHD_DIFFERENCING)
        return IMAGE_NEEDS_FILES;
    *ret_bytes = image_bytes_big(footer + VHD_SIZE, 8);
    return type == VHD_DYNAMIC &&
                   image_bytes_get(image, header, sizeof(header),
                                   image_bytes_big(footer + VHD_HEADER_AT, 8)) &&
                   is_within(image, image_bytes_big(header + VHD_TABLE_AT, 8),
                             image_bytes_big(header + VHD_ENTRIES, 4))
               ? NULL
               : IMAGE_WRONG_HEADER;
}

/* ---- VDI: little-endian ---- */

enum {
    VDI_HEADER = 512,
    VDI_TYPE = 76,
    VDI_TABLE_AT = 340,
    VDI_DISK_SIZE = 368,
    VDI_BLOCKS = 384,
    VDI_DYNAMIC = 1,
    VDI_STATIC = 2,
};

const char *image_check_vdi(const struct image_bytes *image, uint64_t *ret_bytes) {
    unsigned char header[VDI_HEADER];
    uint64_t type;

    if (!image_bytes_get(image, header, sizeof(header), 0))
        return IMAGE_WRONG_HEADER;
    type = image_bytes_little(header + VDI_TYPE, 4);
    *ret_bytes = image_bytes_little(header + VDI_DISK_SIZE, 8);
    if (type != VDI_DYNAMIC && type != VDI_STATIC)
        return IMAGE_NEEDS_FILES;
    return is_within(image, image_bytes_little(header + VDI_TABLE_AT, 4),
                     image_bytes_little(header + VDI_BLOCKS, 4))
               ? NULL
               : IMAGE_WRONG_HEADER;
}

/* ---- ploop, Parallels' format: little-endian ---- */

enum {
    PLOOP_HEADER = 64, /* the table of clusters follows */
    PLOOP_VERSION = 16,
    PLOOP_CLUSTER = 28, /* in sectors */
    PLOOP_ENTRIES = 32,
    PLOOP_SECTORS = 36,
    PLOOP_STATE = 44,
    PLOOP_DATA_AT = 48, /* in sectors */
    PLOOP_EXTENSION = 56,
    PLOOP_SECTOR = 512,
};

#define PLOOP_OPENED 0x746f6e59

bool image_is_ploop(const struct image_bytes *image) {
    return image_bytes_are(image, "WithoutFreeSpace", 16, 0) ||
           image_bytes_are(image, "WithouFreSpacExt", 16, 0);
}

const char *image_check_ploop(const struct image_bytes *image, uint64_t *ret_bytes) {
    unsigned char header[PLOOP_HEADER];
    bool is_old = image_bytes_are(image, "WithoutFreeSpace", 16, 0);
    uint64_t sectors, clusters;

    if (!image_bytes_get(image, header, sizeof(header), 0))
        return IMAGE_WRONG_HEADER;
    if (image_bytes_little(header + PLOOP_STATE, 4) == PLOOP_OPENED)
        return "was not closed";
    if (image_bytes_little(header + PLOOP_EXTENSION, 8) != 0)
        return "has an extension, which is not supported";
    sectors = image_bytes_little(header + PLOOP_SECTORS, is_old ? 4 : 8);
    clusters = image_bytes_little(header + PLOOP_ENTRIES, 4);
    if (image_bytes_little(header + PLOOP_VERSION, 4) != 2 ||
        !is_within(image, sizeof(header), clusters) ||
        !is_within(image, image_bytes_little(header + PLOOP_DATA_AT, 4) * PLOOP_SECTOR, 0) ||
        sectors > clusters * image_bytes_little(header + PLOOP_CLUSTER, 4) ||
        sectors > INT64_MAX / PLOOP_SECTOR)
        return IMAGE_WRONG_HEADER;
    *ret_bytes = sectors * PLOOP_SECTOR;
    return NULL;
}

/* ---- VHDX: a table of regions, of which one has a table of metadata; little-endian ---- */

#define GUID_SIZE       16
#define REGIONS_OFFSET  ((uint64_t)192 << 10)
#define VHDX_ENTRY_SIZE 32
#define ENTRIES_MOST    2047
#define VHDX_HAS_PARENT 2

/* A table of either kind: where its entries begin, and how many there are. */
struct vhdx_table {
    uint64_t entries_at, count;
};

/* The first entry with the GUID: 1; 0 none. */
static bool find_entry(const struct image_bytes *image, const struct vhdx_table *table,
                       const unsigned char guid[GUID_SIZE], unsigned char ret[VHDX_ENTRY_SIZE]) {
    for (uint64_t i = 0; i < table->count; i++) {
        if (!image_bytes_get(image, ret, VHDX_ENTRY_SIZE, table->entries_at + i * VHDX_ENTRY_SIZE))
            return false;
        if (memcmp(ret, guid, GUID_SIZE) == 0)
            return true;
    }
    return false;
}

/* `size` bytes of an item of the metadata. */
static bool get_item(const struct image_bytes *image, uint64_t metadata_at,
                     const struct vhdx_table *metadata, const unsigned char guid[GUID_SIZE],
                     unsigned char *ret, size_t size) {
    unsigned char entry[VHDX_ENTRY_SIZE];
    uint64_t offset;

    if (!find_entry(image, metadata, guid, entry))
        return false;
    offset = image_bytes_little(entry + GUID_SIZE, 4);
    return image_bytes_little(entry + GUID_SIZE + 4, 4) >= size &&
           image_bytes_get(image, ret, size, metadata_at + offset);
}

const char *image_check_vhdx(const struct image_bytes *image, uint64_t *ret_bytes) {
    static const unsigned char metadata_region[GUID_SIZE] = { 0x06, 0xa2, 0x7c, 0x8b, 0x90, 0x47,
                                                              0x9a, 0x4b, 0xb8, 0xfe, 0x57, 0x5f,
                                                              0x05, 0x0f, 0x88, 0x6e };
    static const unsigned char parameters[GUID_SIZE] = { 0x37, 0x67, 0xa1, 0xca, 0x36, 0xfa,
                                                         0x43, 0x4d, 0xb3, 0xb6, 0x33, 0xf0,
                                                         0xaa, 0x44, 0xe7, 0x6b };
    static const unsigned char disk_size[GUID_SIZE] = { 0x24, 0x42, 0xa5, 0x2f, 0x1b, 0xcd,
                                                        0x76, 0x48, 0xb2, 0x11, 0x5d, 0xbe,
                                                        0xd8, 0x3b, 0xf4, 0xb8 };
    unsigned char regions[16], metadata[VHDX_ENTRY_SIZE], entry[VHDX_ENTRY_SIZE], item[8];
    struct vhdx_table table;
    uint64_t at;

    if (!image_bytes_get(image, regions, sizeof(regions), REGIONS_OFFSET) ||
        memcmp(regions, "regi", 4) != 0)
        return IMAGE_WRONG_HEADER;
    table =
        (struct vhdx_table){ REGIONS_OFFSET + sizeof(regions), image_bytes_little(regions + 8, 4) };
    if (table.count > ENTRIES_MOST || !find_entry(image, &table, metadata_region, entry))
        return IMAGE_WRONG_HEADER;
    at = image_bytes_little(entry + GUID_SIZE, 8);
    if (!image_bytes_get(image, metadata, sizeof(metadata), at) ||
        memcmp(metadata, "metadata", 8) != 0)
        return IMAGE_WRONG_HEADER;
    table = (struct vhdx_table){ at + sizeof(metadata), image_bytes_little(metadata + 10, 2) };
    if (table.count > ENTRIES_MOST || !get_item(image, at, &table, parameters, item, sizeof(item)))
        return IMAGE_WRONG_HEADER;
    if (image_bytes_little(item + 4, 4) & VHDX_HAS_PARENT)
        return IMAGE_NEEDS_FILES;
    if (!get_item(image, at, &table, disk_size, item, sizeof(item)))
        return IMAGE_WRONG_HEADER;
    *ret_bytes = image_bytes_little(item, 8);
    return NULL;
}

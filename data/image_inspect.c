#include "data/image_inspect.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "data/image_inspect.private.h"
#include "data/qcow2_check.h"

#include <string.h>

#define MAGIC(text)      text, sizeof(text) - 1
#define ISO_MAGIC_OFFSET 32769
#define VDI_MAGIC_OFFSET 64

/* ---- recognition ---- */

static bool is_qcow2(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("QFI\xfb"), 0);
}

static bool is_qed(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("QED\0"), 0);
}

static bool is_luks(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("LUKS\xba\xbe"), 0);
}

static bool is_vhd(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("conectix"), 0);
}

static bool is_vhdx(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("vhdxfile"), 0);
}

static bool is_vdi(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("\x7f\x10\xda\xbe"), VDI_MAGIC_OFFSET);
}

static bool is_iso(const struct image_bytes *image) {
    return image_bytes_are(image, MAGIC("CD001"), ISO_MAGIC_OFFSET) ||
           image_bytes_are(image, MAGIC("NSR02"), ISO_MAGIC_OFFSET) ||
           image_bytes_are(image, MAGIC("NSR03"), ISO_MAGIC_OFFSET);
}

static const char *refuse_qed(const struct image_bytes *image, uint64_t *ret_bytes) {
    (void)image;
    (void)ret_bytes;
    return "has the format qed, which is not supported";
}

static const char *check_nothing(const struct image_bytes *image, uint64_t *ret_bytes) {
    *ret_bytes = (uint64_t)image->size;
    return NULL;
}

static const char *check_qcow2(const struct image_bytes *image, uint64_t *ret_bytes) {
    return qcow2_check_source(image->fd, ret_bytes);
}

enum { QCOW2, VMDK, VHD, VHDX, VDI, PLOOP, QED, ISO, PARTITIONS, LUKS, FORMATS };

static const struct format {
    const char *name, *qemu_name;
    bool (*is)(const struct image_bytes *image);
    const char *(*check)(const struct image_bytes *image, uint64_t *ret_bytes);
} formats[FORMATS] = {
    [QCOW2] = { "qcow2", "qcow2", is_qcow2, check_qcow2 },
    [VMDK] = { "vmdk", "vmdk", image_is_vmdk, image_check_vmdk },
    [VHD] = { "vhd", "vpc", is_vhd, image_check_vhd },
    [VHDX] = { "vhdx", "vhdx", is_vhdx, image_check_vhdx },
    [VDI] = { "vdi", "vdi", is_vdi, image_check_vdi },
    [PLOOP] = { "ploop", "parallels", image_is_ploop, image_check_ploop },
    [QED] = { "qed", NULL, is_qed, refuse_qed },
    /* The content as it is. */
    [ISO] = { "iso", "raw", is_iso, check_nothing },
    [PARTITIONS] = { "raw", "raw", image_has_partitions, image_check_partitions },
    [LUKS] = { "raw", "raw", is_luks, image_check_luks },
};

static const struct format plain = { "raw", "raw", NULL, check_nothing };

/* ---- declared formats ---- */

/* The first is the image service's name, the second the format's. */
static const char *const declarations[][2] = {
    { "raw", "raw" },   { "qcow2", "qcow2" }, { "vmdk", "vmdk" },   { "vhd", "vhd" },
    { "vhdx", "vhdx" }, { "vdi", "vdi" },     { "ploop", "ploop" }, { "iso", "iso" },
    { "ami", "raw" },   { "ari", "raw" },     { "aki", "raw" },
};

/* NULL: unknown. */
static const char *format_of(const char *declared) {
    for (size_t i = 0; i < LENGTH(declarations); i++)
        if (strcmp(declared, declarations[i][0]) == 0)
            return declarations[i][1];
    return NULL;
}

bool image_format_is_known(const char *declared) {
    return format_of(declared) != NULL;
}

bool image_format_is_plain(const char *declared) {
    const char *format = format_of(declared);

    return format && (strcmp(format, "raw") == 0 || strcmp(format, "iso") == 0);
}

/* ---- inspection ---- */

/* NULL: more than one.  Hybrid images of optical discs have a partition table, too. */
static const struct format *recognize(const struct image_bytes *image, const char *wanted) {
    const struct format *found = NULL;

    for (size_t i = 0; i < FORMATS; i++) {
        if (!formats[i].is(image))
            continue;
        if (found && !(found == &formats[ISO] && i == PARTITIONS && strcmp(wanted, "iso") == 0))
            return NULL;
        if (!found)
            found = &formats[i];
    }
    return found ? found : &plain;
}

int image_inspect(const struct image_bytes *image, const char *declared, struct image_finding *ret,
                  struct error *err) {
    const char *wanted = format_of(declared), *why;
    const struct format *found;
    uint64_t bytes = 0;

    assert(wanted && image->fd >= 0 && image->size >= 0);
    found = recognize(image, wanted);
    if (!found)
        return error_set(err, ERROR_BAD_REQUEST, "The image has more than one format.");
    if (strcmp(found->name, wanted) != 0 && (found != &formats[ISO] || strcmp(wanted, "raw") != 0))
        return error_set(err, ERROR_BAD_REQUEST,
                         "The image has the format %s, and its disk_format is %s.", found->name,
                         declared);
    why = found->check(image, &bytes);
    if (why)
        return error_set(err, ERROR_BAD_REQUEST, "The image %s.", why);
    if (bytes == 0 || bytes > INT64_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "The image has an impossible virtual size.");
    *ret = (struct image_finding){ found->name, found->qemu_name, (int64_t)bytes };
    return 0;
}

/*
 * The format of an image file from an untrusted source, by its bytes alone, and whether a tool may
 * read it.
 *
 * Before any tool sees the bytes: exactly one format is recognized, it is the declared one, and
 * nothing in it leads to other files, of this host or elsewhere.  The tool is then told the format;
 * it never detects one.  What a container contains is not looked at: its content becomes the
 * content of a volume, with the format of a raw disk.
 *
 * Sources of the rules: CVE-2015-5163, CVE-2022-47951, CVE-2024-32498 and CVE-2024-40767, and the
 * specifications of the formats.
 */
#pragma once

#include "common/error.h"
#include "data/image_bytes.h"

struct image_finding {
    /* The image service's name: raw, qcow2, vmdk, vhd, vhdx, vdi, ploop, iso. */
    const char *format;
    const char *qemu_name; /* "raw": the bytes are the content */
    int64_t virtual_bytes;
};

/* May a volume be made of images of that disk format? */
bool image_format_is_known(const char *declared);

/* Are its bytes the content?  Then only the first IMAGE_BYTES_HEAD of them are inspected. */
bool image_format_is_plain(const char *declared);

/* `declared` is a known disk format.  ERROR_BAD_REQUEST: the reason, which names no bytes of the
 * image. */
int image_inspect(const struct image_bytes *image, const char *declared, struct image_finding *ret,
                  struct error *err);

/*
 * Any bytes as the output of qemu-img, and as an image: no reader of either accepts a size below
 * zero or reads outside.
 */
#include "data/image_inspect.h"
#include "data/qcow2_check.h"
#include "drivers/file/qemu_img.h"

#include "common/cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int holds) {
    if (!holds)
        abort();
}

static void check_facts(int result, const struct image_facts *facts, const struct error *err) {
    if (result < 0) {
        must(err->kind == ERROR_BACKEND && err->message[0]);
        return;
    }
    must(facts->virtual_bytes >= 0);
    must(memchr(facts->backing, '\0', sizeof(facts->backing)) != NULL);
    must(memchr(facts->backing_format, '\0', sizeof(facts->backing_format)) != NULL);
}

/* Of an untrusted source: refused with a reason, or of one format and a possible size. */
static void inspect(int fd, size_t size) {
    static const char *const declared[] = { "raw",  "qcow2", "vmdk",  "vhd",
                                            "vhdx", "vdi",   "ploop", "iso" };
    const struct image_bytes image = { fd, (int64_t)size };
    struct image_finding finding;

    for (size_t i = 0; i < LENGTH(declared); i++) {
        struct error err = { .kind = ERROR_NONE };

        if (image_inspect(&image, declared[i], &finding, &err) < 0)
            must(err.kind == ERROR_BAD_REQUEST && err.message[0]);
        else
            must(finding.qemu_name && finding.virtual_bytes > 0);
    }
}

static void read_header(const uint8_t *bytes, size_t size) {
    autoclose int fd = memfd_create("image", MFD_CLOEXEC);
    struct image_facts facts;
    struct error err = { .kind = ERROR_NONE };

    must(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
    check_facts(image_read_facts(fd, "qcow2", &facts, &err), &facts, &err);
    image_looks_luks(fd);
    qcow2_check(fd, true);
    inspect(fd, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    autofree char *text = malloc(size + 1);
    struct image_facts facts;
    struct error err = { .kind = ERROR_NONE };

    must(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    check_facts(qemu_img_parse_info(text, size, "qcow2", &facts, &err), &facts, &err);
    image_lock_reported(text);
    read_header(bytes, size);
    return 0;
}

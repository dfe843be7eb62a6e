#include "common/loop_identity.h"

#include "common/cleanup.h"
#include "common/thread.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICES_MOST 4096
#define BOOT_SIZE    36

struct identity {
    uint64_t number, file_device, file_inode;
    unsigned char label[LO_NAME_SIZE];
};

/* In the file, at the offset of its device.  diskseq restarts with each boot. */
struct record {
    struct identity identity;
    char boot[BOOT_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static struct identity identities[DEVICES_MOST];
static int store = -1;
static char boot[BOOT_SIZE];

uint64_t loop_diskseq(int fd) {
    uint64_t number = 0;

#ifdef BLKGETDISKSEQ
    if (ioctl(fd, BLKGETDISKSEQ, &number) < 0)
        return 0;
#else
    (void)fd;
#endif
    return number;
}

/* ---- the file ---- */

static off_t place_of(unsigned device) {
    return (off_t)device * (off_t)sizeof(struct record);
}

void loop_identity_set_file(int file) {
    autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    scoped_lock(&lock);
    memset(identities, 0, sizeof identities);
    store = fd >= 0 && read(fd, boot, BOOT_SIZE) == BOOT_SIZE ? file : -1;
}

/* ---- records ---- */

static bool is_known(unsigned device, uint64_t number) {
    struct record record;

    if (identities[device].number == number)
        return true;
    if (store < 0 || pread(store, &record, sizeof record, place_of(device)) != sizeof record ||
        record.identity.number != number || memcmp(record.boot, boot, BOOT_SIZE) != 0)
        return false;
    identities[device] = record.identity;
    return true;
}

void loop_identity_record(unsigned device, uint64_t number, struct loop_info64 *info) {
    if (number == 0 || device >= DEVICES_MOST)
        return;
    scoped_lock(&lock);
    if (!is_known(device, number)) {
        struct record record;

        identities[device] = (struct identity){ .number = number,
                                                .file_device = info->lo_device,
                                                .file_inode = info->lo_inode };
        memcpy(identities[device].label, info->lo_file_name, LO_NAME_SIZE);
        /* a record that cannot be stored is valid while this process runs */
        record = (struct record){ .identity = identities[device] };
        memcpy(record.boot, boot, BOOT_SIZE);
        if (store >= 0)
            (void)!pwrite(store, &record, sizeof record, place_of(device));
    }
    memcpy(info->lo_file_name, identities[device].label, LO_NAME_SIZE);
}

bool loop_identity_recall(unsigned device, uint64_t number, struct loop_info64 *ret) {
    bool known;

    if (number == 0 || device >= DEVICES_MOST)
        return false;
    scoped_lock(&lock);
    known = is_known(device, number);
    if (known) {
        memcpy(ret->lo_file_name, identities[device].label, LO_NAME_SIZE);
        ret->lo_device = identities[device].file_device;
        ret->lo_inode = identities[device].file_inode;
    }
    return known;
}

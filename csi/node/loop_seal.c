#include "csi/node/loop_seal.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICES_MOST 4096
#define BOOT_SIZE    36

struct seal {
    uint64_t number, file_device, file_inode;
    unsigned char label[LO_NAME_SIZE];
};

/* As it is kept, each at its device's place.  A kernel that is started begins anew to count. */
struct record {
    struct seal seal;
    char boot[BOOT_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static struct seal seals[DEVICES_MOST];
static int kept_in = -1;
static char boot[BOOT_SIZE];

uint64_t loop_seal_number(int fd) {
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

static bool find_kept(unsigned device, uint64_t number, struct seal *ret) {
    struct record record;

    if (kept_in < 0 || pread(kept_in, &record, sizeof record, place_of(device)) != sizeof record ||
        record.seal.number != number || memcmp(record.boot, boot, BOOT_SIZE) != 0)
        return false;
    *ret = record.seal;
    return true;
}

/* What cannot be kept counts as long as this process lives. */
static void keep(unsigned device, const struct seal *seal) {
    struct record record = { .seal = *seal };

    memcpy(record.boot, boot, BOOT_SIZE);
    if (kept_in >= 0)
        (void)!pwrite(kept_in, &record, sizeof record, place_of(device));
}

static bool read_boot(void) {
    autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, boot, BOOT_SIZE) == BOOT_SIZE;
}

void loop_seal_keep(int file) {
    pthread_mutex_lock(&lock);
    memset(seals, 0, sizeof seals);
    kept_in = read_boot() ? file : -1;
    pthread_mutex_unlock(&lock);
}

/* ---- seals ---- */

static bool is_known(unsigned device, uint64_t number) {
    return seals[device].number == number || find_kept(device, number, &seals[device]);
}

static void recall(unsigned device, struct loop_info64 *ret) {
    memcpy(ret->lo_file_name, seals[device].label, LO_NAME_SIZE);
    ret->lo_device = seals[device].file_device;
    ret->lo_inode = seals[device].file_inode;
}

void loop_seal(unsigned device, uint64_t number, struct loop_info64 *info) {
    if (number == 0 || device >= DEVICES_MOST)
        return;
    pthread_mutex_lock(&lock);
    if (!is_known(device, number)) {
        seals[device] = (struct seal){ .number = number,
                                       .file_device = info->lo_device,
                                       .file_inode = info->lo_inode };
        memcpy(seals[device].label, info->lo_file_name, LO_NAME_SIZE);
        keep(device, &seals[device]);
    }
    memcpy(info->lo_file_name, seals[device].label, LO_NAME_SIZE);
    pthread_mutex_unlock(&lock);
}

bool loop_seal_recall(unsigned device, uint64_t number, struct loop_info64 *ret) {
    bool known;

    if (number == 0 || device >= DEVICES_MOST)
        return false;
    pthread_mutex_lock(&lock);
    known = is_known(device, number);
    if (known)
        recall(device, ret);
    pthread_mutex_unlock(&lock);
    return known;
}

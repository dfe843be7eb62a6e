#include "csi/loop_seal.h"

#include <linux/fs.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>

#define DEVICES_MOST 4096

struct seal {
    uint64_t number;
    unsigned char label[LO_NAME_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the seals */
static struct seal seals[DEVICES_MOST];

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

void loop_seal(unsigned device, uint64_t number, unsigned char label[LO_NAME_SIZE]) {
    struct seal *seal = &seals[device < DEVICES_MOST ? device : 0];

    if (number == 0 || device >= DEVICES_MOST)
        return;
    pthread_mutex_lock(&lock);
    if (seal->number == number) {
        memcpy(label, seal->label, LO_NAME_SIZE);
    } else {
        seal->number = number;
        memcpy(seal->label, label, LO_NAME_SIZE);
    }
    pthread_mutex_unlock(&lock);
}

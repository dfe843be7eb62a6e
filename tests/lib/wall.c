/*
 * Preloaded, sets the wall's clock of one program: it is ahead of the machine's by the seconds in
 * the file WALL_FILE, read at each call.  Every other clock stays as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead(void) {
    const char *path = getenv("WALL_FILE");
    int before = errno, fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[32] = "";

    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    if (fd >= 0)
        close(fd);
    errno = before;
    return strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    if (syscall(SYS_clock_gettime, id, now) < 0)
        return -1;
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        now->tv_sec += ahead();
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret) {
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    if (ret)
        *ret = exact.tv_sec;
    return exact.tv_sec;
}

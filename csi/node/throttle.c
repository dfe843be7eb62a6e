#include "csi/node/throttle.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LINE_SIZE  256
#define DEPTH_MOST 16
#define LOOPS_MOST 4096
#define V2_FILE    "io.max"

static const char *const v2_words[THROTTLE_RATES] = { "rbps", "wbps", "riops", "wiops" };
static const char *const v1_files[THROTTLE_RATES] = {
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
};

static int64_t lesser(int64_t a, int64_t b) {
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

struct throttle throttle_of(const struct io_limits *limits) {
    const int64_t *of = limits->of;
    struct throttle throttle = { {
        lesser(of[IO_TOTAL_BYTES], of[IO_READ_BYTES]),
        lesser(of[IO_TOTAL_BYTES], of[IO_WRITE_BYTES]),
        lesser(of[IO_TOTAL_REQUESTS], of[IO_READ_REQUESTS]),
        lesser(of[IO_TOTAL_REQUESTS], of[IO_WRITE_REQUESTS]),
    } };

    for (int i = 2; i < THROTTLE_RATES; i++)
        throttle.of[i] = lesser(throttle.of[i], throttle.of[i] ? UINT32_MAX - 1 : 0);
    return throttle;
}

static const char *path_in(struct arena *arena, const char *group, const char *file) {
    return arena_join(arena, group, "/", file, NULL);
}

static bool is_v2(struct arena *arena, const char *group) {
    return access(path_in(arena, group, V2_FILE), F_OK) == 0;
}

const char *throttle_find_group(struct arena *arena) {
    static const char *const places[] = {
        "/sys/fs/cgroup/kubepods.slice",
        "/sys/fs/cgroup/kubepods",
        "/sys/fs/cgroup/blkio/kubepods.slice",
        "/sys/fs/cgroup/blkio/kubepods",
    };

    for (size_t i = 0; i < LENGTH(places); i++)
        if (is_v2(arena, places[i]) || access(path_in(arena, places[i], v1_files[0]), F_OK) == 0)
            return places[i];
    return NULL;
}

/* ---- files: lines with a device's number and its limits ---- */

static FILE *open_lines(const char *path, struct error *err) {
    FILE *file = fopen(path, "re");

    if (!file)
        error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND, "opening %s", path);
    return file;
}

/* "" when there is none. */
static int read_line(const char *path, dev_t device, char ret[LINE_SIZE], struct error *err) {
    autofile FILE *file = open_lines(path, err);
    unsigned high, low;
    int length = 0;

    if (!file)
        return -1;
    while (fgets(ret, LINE_SIZE, file))
        if (sscanf(ret, "%u:%u%n", &high, &low, &length) == 2 && makedev(high, low) == device) {
            memmove(ret, ret + length, strlen(ret + length) + 1);
            return 0;
        }
    *ret = '\0';
    return 0;
}

static int write_line(const char *path, const char *line, struct error *err) {
    autoclose int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        return error_errno(err,
                           errno == ENOENT || errno == ENODEV ? ERROR_NOT_FOUND : ERROR_BACKEND,
                           "writing %s", path);
    return 0;
}

/* ---- v2 ---- */

static int64_t rate_in(const char *line, const char *word) {
    const char *at = strstr(line, word);

    return at && at[strlen(word)] == '=' ? strtoll(at + strlen(word) + 1, NULL, 10) : 0; /* "max" */
}

static int set_v2(struct arena *arena, const char *group, dev_t device,
                  const struct throttle *wanted, struct error *err) {
    const char *path = path_in(arena, group, V2_FILE);
    char line[LINE_SIZE], *end = line;
    bool same = true;

    if (read_line(path, device, line, err) < 0)
        return -1;
    for (int i = 0; i < THROTTLE_RATES; i++)
        same = same && rate_in(line, v2_words[i]) == wanted->of[i];
    if (same)
        return 0;
    end += sprintf(end, "%u:%u", major(device), minor(device));
    for (int i = 0; i < THROTTLE_RATES; i++)
        end += wanted->of[i] > 0 ? sprintf(end, " %s=%" PRId64, v2_words[i], wanted->of[i])
                                 : sprintf(end, " %s=max", v2_words[i]);
    strcpy(end, "\n");
    return write_line(path, line, err);
}

/* ---- v1 ---- */

static int set_v1(struct arena *arena, const char *group, dev_t device,
                  const struct throttle *wanted, struct error *err) {
    char line[LINE_SIZE];

    for (int i = 0; i < THROTTLE_RATES; i++) {
        const char *path = path_in(arena, group, v1_files[i]);

        if (read_line(path, device, line, err) < 0)
            return -1;
        if (strtoll(line, NULL, 10) == wanted->of[i])
            continue;
        snprintf(line, sizeof line, "%u:%u %" PRId64 "\n", major(device), minor(device),
                 wanted->of[i]);
        if (write_line(path, line, err) < 0)
            return -1;
    }
    return 0;
}

static int set_below(struct arena *arena, const char *group, dev_t device,
                     const struct throttle *wanted, unsigned depth, struct error *err) {
    autodirectory DIR *dir = opendir(group);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const char *child;

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        child = path_in(arena, group, entry->d_name);
        if (set_v1(arena, child, device, wanted, err) == 0) {
            if (depth > 0 && set_below(arena, child, device, wanted, depth - 1, err) < 0)
                return -1;
        } else if (err->kind != ERROR_NOT_FOUND) { /* a group that is gone meanwhile is ignored */
            return -1;
        }
    }
    return 0;
}

int throttle_set(const char *group, dev_t device, const struct throttle *wanted,
                 struct error *err) {
    autoarena struct arena *arena = arena_new();

    if (is_v2(arena, group))
        return set_v2(arena, group, device, wanted, err);
    if (set_v1(arena, group, device, wanted, err) < 0)
        return -1;
    return set_below(arena, group, device, wanted, DEPTH_MOST, err);
}

/* ---- limited devices ---- */

static void add(unsigned *list, int *count, unsigned number) {
    for (int i = 0; i < *count; i++)
        if (list[i] == number)
            return;
    if (*count < LOOPS_MOST)
        list[(*count)++] = number;
}

static int list_file(const char *path, unsigned *list, int *count, struct error *err) {
    autofile FILE *file = open_lines(path, err);
    char line[LINE_SIZE];
    unsigned high, low;

    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%u:%u", &high, &low) == 2 && high == LOOP_MAJOR &&
            strpbrk(strchr(line, ' ') ? strchr(line, ' ') : "", "0123456789"))
            add(list, count, low);
    return 0;
}

int throttle_list(const char *group, struct arena *arena, unsigned **ret, struct error *err) {
    bool v2 = is_v2(arena, group);
    int count = 0;

    *ret = arena_alloc(arena, LOOPS_MOST * sizeof **ret);
    for (int i = 0; i < (v2 ? 1 : THROTTLE_RATES); i++)
        if (list_file(path_in(arena, group, v2 ? V2_FILE : v1_files[i]), *ret, &count, err) < 0)
            return -1;
    return count;
}

/*
 * Release by attribute: what is not memory of an arena is given back at the end of its block, in
 * reverse order, on every path.
 *
 *     autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
 *     autofree char *text = strdup(name);
 *     return take(text);            hands the ownership on and disarms the cleanup
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *place) {
    free(*(void **)place);
}

static inline void cleanup_close(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose(FILE *const *file) {
    if (*file)
        fclose(*file);
}

static inline void cleanup_closedir(DIR *const *directory) {
    if (*directory)
        closedir(*directory);
}

#define autofree      __attribute__((cleanup(cleanup_free)))
#define autoclose     __attribute__((cleanup(cleanup_close)))
#define autofile      __attribute__((cleanup(cleanup_fclose)))
#define autodirectory __attribute__((cleanup(cleanup_closedir)))

#define take(pointer)                           \
    __extension__({                             \
        __typeof__(pointer) taken_ = (pointer); \
        (pointer) = NULL;                       \
        taken_;                                 \
    })

static inline int cleanup_take_fd(int *fd) {
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define take_fd(fd)   cleanup_take_fd(&(fd))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

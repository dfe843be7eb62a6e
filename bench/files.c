/*
 * The file operations that a raw volume needs, alone: the rest of the service's time is its own.
 *
 *     files create|extend|delete DIRECTORY COUNT THREADS
 *
 * Makes COUNT sparse files of 1 GiB, grows them to 2 GiB, or deletes them; each one durably, with
 * the directory where that changes.  Prints operations a second, and the median time of one in
 * microseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GIB ((off_t)1 << 30)

static int directory;
static unsigned count;

static void check(int result, const char *what) {
    if (result >= 0)
        return;
    fprintf(stderr, "files: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void set_size(int fd, off_t size) {
    check(fd, "open");
    check(ftruncate(fd, size), "ftruncate");
    check(fsync(fd), "fsync");
    close(fd);
}

static void create(const char *name) {
    set_size(openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), GIB);
    check(fsync(directory), "fsync of the directory");
}

static void extend(const char *name) {
    set_size(openat(directory, name, O_RDWR | O_CLOEXEC), 2 * GIB);
}

static void delete (const char *name) {
    check(unlinkat(directory, name, 0), "unlink");
    check(fsync(directory), "fsync of the directory");
}

struct step {
    const char *name;
    void (*run)(const char *name);
    atomic_uint next;
    double *microseconds;
};

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void *step_thread(void *arg) {
    struct step *step = arg;
    unsigned i;

    while ((i = atomic_fetch_add(&step->next, 1)) < count) {
        double begin = now();
        char name[32];

        snprintf(name, sizeof name, "file-%u", i);
        step->run(name);
        step->microseconds[i] = now() - begin;
    }
    return NULL;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void step_measure(struct step *step, pthread_t *threads, unsigned thread_count) {
    double begin = now(), end;

    for (unsigned i = 0; i < thread_count; i++)
        check(-pthread_create(&threads[i], NULL, step_thread, step), "thread");
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    end = now();
    qsort(step->microseconds, count, sizeof *step->microseconds, compare);
    printf("%.0f %.1f\n", count / ((end - begin) / 1e6), step->microseconds[count / 2]);
}

static struct step *step_find(const char *name) {
    static struct step steps[] = { { .name = "create", .run = create },
                                   { .name = "extend", .run = extend },
                                   { .name = "delete", .run = delete } };

    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, name) == 0)
            return &steps[i];
    return NULL;
}

int main(int word_count, char *words[]) {
    struct step *step = word_count == 5 ? step_find(words[1]) : NULL;
    unsigned thread_count;
    pthread_t *threads;

    if (!step || atoi(words[3]) < 1 || atoi(words[4]) < 1) {
        fputs("usage: files create|extend|delete DIRECTORY COUNT THREADS\n", stderr);
        return 2;
    }
    directory = open(words[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(directory, words[2]);
    count = (unsigned)atoi(words[3]);
    thread_count = (unsigned)atoi(words[4]);
    threads = calloc(thread_count, sizeof *threads);
    step->microseconds = calloc(count, sizeof(double));
    if (!threads || !step->microseconds)
        return 1;
    step_measure(step, threads, thread_count);
    free(step->microseconds);
    free(threads);
    return 0;
}

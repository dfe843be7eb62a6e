/*
 * The program in a child of the test: its command line, its output, and how it ends.  Its files are
 * below a directory of the test's own.
 */
#pragma once

#include "cmd/program.h"
#include "tests/lib/check_main.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MOST 24

struct home {
    char path[32];
};

static inline void home_make(struct home *home) {
    strcpy(home->path, "/tmp/scoria-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(home->path));
}

static inline int home_unlink(const char *path, const struct stat *info, int kind,
                              struct FTW *where) {
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static inline void home_remove(struct home *home) {
    ck_assert_int_eq(nftw(home->path, home_unlink, 8, FTW_DEPTH | FTW_PHYS), 0);
}
#define autohome __attribute__((cleanup(home_remove)))

/* Of a program that runs, or that has ended. */
struct output {
    pid_t pid;
    FILE *out;
    FILE *err;
    char text[1 << 20], error[1 << 12];
    int status;
};

/* "manage db sync", one blank between words; the state is in `home`, and no configuration file is
 * read. */
static inline void program_child(const struct home *home, const char *line) {
    const char *words[WORDS_MOST + 4] = { "scoria" };
    char *copy = strdup(line), *rest = NULL;
    int count = 1;

    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        ck_assert_int_lt(count, WORDS_MOST);
        words[count++] = word;
    }
    if (home) {
        words[count++] = "--config-file=/dev/null";
        words[count++] = "--state-dir";
        words[count++] = home->path;
    }
    exit(program_run(count, words));
}

static inline FILE *program_pipe(int *end) {
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    *end = ends[1];
    return fdopen(ends[0], "r");
}

static inline void program_start(const struct home *home, const char *line, struct output *output) {
    int out, err;

    *output = (struct output){ .out = program_pipe(&out), .err = tmpfile() };
    err = fileno(output->err);
    output->pid = fork();
    ck_assert_int_ge(output->pid, 0);
    if (output->pid == 0) {
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        close(out);
        program_child(home, line);
    }
    close(out);
}

static inline void program_read(FILE *file, char *text, size_t size) {
    size_t length = fread(text, 1, size - 1, file);

    ck_assert_uint_lt(length, size - 1);
    text[length] = '\0';
    fclose(file);
}

static inline void program_wait(struct output *output) {
    int status;

    program_read(output->out, output->text, sizeof output->text);
    ck_assert_int_eq(waitpid(output->pid, &status, 0), output->pid);
    ck_assert(WIFEXITED(status));
    output->status = WEXITSTATUS(status);
    rewind(output->err);
    program_read(output->err, output->error, sizeof output->error);
}

/* The text of the line from its start to its end. */
static inline const struct output *program_output(const struct home *home, const char *line) {
    static struct output output;

    program_start(home, line, &output);
    program_wait(&output);
    return &output;
}

#define assert_has(text, part) \
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text)

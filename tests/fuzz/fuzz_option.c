/*
 * Any bytes as a configuration file: refused with a message that names the file, or loaded; then
 * every value is within the range of its option.
 */
#include "common/cleanup.h"
#include "config/config.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = { "red", "green", NULL };

/* clang-format off */
static const struct option options[] = {
    { "DEFAULT", "text", OPTION_TEXT, NULL, 0, 0, NULL, NULL, false, 0, 0, 0 },
    { "DEFAULT", "int", OPTION_INT, "5", -10, 10, NULL, NULL, false, 0, 0, 0 },
    { "DEFAULT", "float", OPTION_FLOAT, "1", 0, 2, NULL, NULL, false, 0, 0, 0 },
    { "DEFAULT", "bool", OPTION_BOOL, "false", 0, 0, NULL, NULL, false, 0, 0, 0 },
    { "DEFAULT", "word", OPTION_WORD, "red", 0, 0, words, NULL, false, 0, 0, 0 },
    { "DEFAULT", "enabled_backends", OPTION_LIST, NULL, 0, 0, NULL, NULL, false, 0, 0, 0 },
    { "other", "seconds", OPTION_SECONDS, "1", 0, 0, NULL, NULL, true, 0, 0, 0 },
    { "DEFAULT", "host", OPTION_HOST, NULL, 0, 0, NULL, NULL, false, 0, 0, 0 },
    { OPTION_BACKEND, "list", OPTION_LIST, "a,b", 0, 0, NULL, NULL, false, 0, 0, 0 },
    OPTIONS_END
};
/* clang-format on */

static void check(bool holds) {
    if (!holds)
        __builtin_trap();
}

static void check_values(const struct config *config) {
    int64_t integer = config_int(config, "DEFAULT", "int");
    double real = config_float(config, "DEFAULT", "float");
    const char *word = config_text(config, "DEFAULT", "word"), *name;

    check(integer >= -10 && integer <= 10);
    check(real >= 0 && real <= 2);
    check(strcmp(word, "red") == 0 || strcmp(word, "green") == 0);
    check(config_int(config, "other", "seconds") >= 0);
    for (size_t i = 0; (name = config_item(config, "DEFAULT", "enabled_backends", i)); i++) {
        for (size_t j = 0; config_item(config, name, "list", j); j++)
            check(config_item(config, name, "list", j)[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct option *const tables[] = { options, NULL };
    autoclose int fd = memfd_create("config", MFD_CLOEXEC);
    struct config *config = NULL;
    struct error err = { 0 };
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (config_load(tables, path, NULL, &config, &err) < 0) {
        check(config == NULL && err.kind == ERROR_BAD_REQUEST);
        check(err.message[0] != '\0');
        return 0;
    }
    check_values(config);
    config_free(config);
    return 0;
}

/*
 * scoria manage drivers: what each driver can do and which options it has; the matrix in
 * docs/drivers.md comes from here.
 */
#include "cmd/manage.h"
#include "drivers/driver.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} features[] = {
    { "online extend", DRIVER_ONLINE_EXTEND },
    { "multiattach", DRIVER_MULTIATTACH },
    { "thin", DRIVER_THIN },
    { "thick", DRIVER_THICK },
};

#define FEATURES (sizeof features / sizeof features[0])

/* Those that belong to it alone: its last table. */
static const struct option *own_options(const struct driver *driver) {
    size_t last = 0;

    while (driver->options[last + 1])
        last++;
    return driver->options[last];
}

static void print_table(void) {
    printf("%-14s  %-8s", "driver", "protocol");
    for (unsigned i = 0; i < FEATURES; i++)
        printf("  %s", features[i].name);
    putchar('\n');
    for (unsigned i = 0; drivers[i]; i++) {
        printf("%-14s  %-8s", drivers[i]->name, drivers[i]->storage_protocol);
        for (unsigned j = 0; j < FEATURES; j++)
            printf("  %-*s", (int)(j + 1 < FEATURES ? strlen(features[j].name) : 0),
                   drivers[i]->features & features[j].bit ? "yes" : "no");
        putchar('\n');
    }
    for (unsigned i = 0; drivers[i]; i++) {
        printf("\n%s\n", drivers[i]->name);
        for (const struct option *option = own_options(drivers[i]); option->key; option++)
            printf("    %s\n", option->key);
    }
}

static json_t *describe(const struct driver *driver) {
    json_t *names = json_array(), *options = json_array();

    for (unsigned i = 0; i < FEATURES; i++)
        if (driver->features & features[i].bit)
            json_array_append_new(names, json_string(features[i].name));
    for (const struct option *option = own_options(driver); option->key; option++)
        json_array_append_new(options, json_string(option->key));
    return json_pack("{ss ss ss so so}", "driver", driver->name, "vendor", driver->vendor_name,
                     "protocol", driver->storage_protocol, "features", names, "options", options);
}

int manage_drivers(const struct config *config, bool json) {
    json_t *list = json_array();

    (void)config;
    if (!json)
        print_table();
    for (unsigned i = 0; drivers[i]; i++)
        json_array_append_new(list, describe(drivers[i]));
    if (json) {
        json_dumpf(list, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(list);
    return EXIT_SUCCESS;
}

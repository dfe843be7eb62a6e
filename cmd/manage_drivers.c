/*
 * scoria manage drivers: features and options of each driver; source of the matrix in
 * docs/drivers.md.
 */
#include "cmd/drivers.h"
#include "cmd/manage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its own options: its last table. */
static const struct option *own_options(const struct driver *driver) {
    size_t last = 0;

    while (driver->options[last + 1])
        last++;
    return driver->options[last];
}

static void print_table(void) {
    printf("%-14s  %-8s", "driver", "protocol");
    for (const struct driver_feature_row *row = driver_features; row->name; row++)
        printf("  %s", row->name);
    putchar('\n');
    for (unsigned i = 0; drivers[i]; i++) {
        printf("%-14s  %-8s", drivers[i]->name, drivers[i]->storage_protocol);
        for (const struct driver_feature_row *row = driver_features; row->name; row++)
            printf("  %-*s", row[1].name ? (int)strlen(row->name) : 0,
                   driver_supported(drivers[i]) & row->bit ? "yes" : "no");
        putchar('\n');
    }
    for (unsigned i = 0; drivers[i]; i++) {
        printf("\n%s\n", drivers[i]->name);
        for (const struct option *option = own_options(drivers[i]); option->key; option++)
            printf("    %s\n", option->key);
    }
}

int manage_drivers(const struct config *config, bool json) {
    json_t *list;

    (void)config;
    if (!json) {
        print_table();
        return EXIT_SUCCESS;
    }
    list = json_array();
    for (unsigned i = 0; drivers[i]; i++) {
        const struct driver *driver = drivers[i];
        json_t *names = json_array(), *options = json_array();

        for (const struct driver_feature_row *row = driver_features; row->name; row++)
            if (driver_supported(driver) & row->bit)
                json_array_append_new(names, json_string(row->name));
        for (const struct option *option = own_options(driver); option->key; option++)
            json_array_append_new(options, json_string(option->key));
        json_array_append_new(list,
                              json_pack("{ss ss ss so so}", "driver", driver->name, "vendor",
                                        driver->vendor_name, "protocol", driver->storage_protocol,
                                        "features", names, "options", options));
    }
    manage_print_json(list);
    return EXIT_SUCCESS;
}

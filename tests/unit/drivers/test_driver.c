#include "drivers/driver.h"

#include "tests/unit/drivers/driver_test.h"

#include <stdlib.h>

START_TEST(every_driver_is_found_by_its_name) {
    size_t count = 0;

    for (; drivers[count]; count++) {
        ck_assert_ptr_eq(driver_find(drivers, drivers[count]->name), drivers[count]);
        ck_assert_ptr_nonnull(drivers[count]->open);
        ck_assert_ptr_nonnull(drivers[count]->options);
    }
    ck_assert_uint_eq(count, 8);
    ck_assert_ptr_null(driver_find(drivers, "lvm"));
    ck_assert_ptr_null(driver_find(drivers, ""));
}
END_TEST

START_TEST(class_paths_of_cinder_are_known) {
    ck_assert_ptr_eq(driver_find(drivers, "cinder.volume.drivers.nfs.NfsDriver"), &nfs_driver);
    ck_assert_ptr_eq(driver_find(drivers, "cinder.volume.drivers.netapp.common.NetAppDriver"),
                     &netapp_nfs_driver);
    ck_assert_ptr_eq(driver_find(drivers, "cinder.volume.drivers.dell_emc.powerstore.nfs."
                                          "PowerStoreNFSDriver"),
                     &powerstore_nfs_driver);
    ck_assert_ptr_eq(driver_find(drivers, "cinder.volume.drivers.quobyte.QuobyteDriver"),
                     &quobyte_driver);
    ck_assert_ptr_null(driver_find(drivers, "cinder.volume.drivers.lvm.LVMVolumeDriver"));
}
END_TEST

START_TEST(a_misspelling_gets_a_suggestion) {
    ck_assert_str_eq(driver_nearest(drivers, "nfss"), "nfs");
    ck_assert_str_eq(driver_nearest(drivers, "quobite"), "quobyte");
    ck_assert_ptr_nonnull(driver_nearest(drivers, "something else entirely"));
}
END_TEST

START_TEST(every_option_belongs_to_backends_and_has_help) {
    const struct option *tables[16];
    size_t count = driver_add_options(drivers, tables, 0, LENGTH(tables));

    for (size_t i = 0; i < count; i++) {
        for (const struct option *option = tables[i]; option->type != OPTION_TYPE_END; option++) {
            ck_assert_str_eq(option->section, OPTION_BACKEND);
            ck_assert_ptr_nonnull(option->help);
            ck_assert_int_eq(option->help[strlen(option->help) - 1], '.');
        }
    }
    ck_assert_uint_eq(driver_add_options(drivers, tables, count, LENGTH(tables)), count);
}
END_TEST

static const struct option *find_option(const char *key) {
    const struct option *tables[16];
    size_t count = driver_add_options(drivers, tables, 0, LENGTH(tables));

    for (size_t i = 0; i < count; i++)
        for (const struct option *option = tables[i]; option->type != OPTION_TYPE_END; option++)
            if (strcmp(option->key, key) == 0)
                return option;
    return NULL;
}

/* Entries count in no quota: without a limit each project could fill a pool with them. */
START_TEST(the_image_cache_is_limited_by_default) {
    static const char *const keys[] = { "image_volume_cache_max_size_gb",
                                        "image_volume_cache_max_count" };

    for (size_t i = 0; i < LENGTH(keys); i++) {
        const struct option *option = find_option(keys[i]);

        ck_assert_ptr_nonnull(option);
        ck_assert_int_gt(atoi(option->fallback), 0);
    }
}
END_TEST

START_TEST(a_feature_needs_all_of_its_functions) {
    struct driver driver = memory_driver;
    unsigned features = driver_supported(&driver);

    ck_assert(features & DRIVER_SNAPSHOT);
    driver.list_snapshots = NULL;
    ck_assert_uint_eq(driver_supported(&driver), features & ~(unsigned)DRIVER_SNAPSHOT);
    driver.disconnect = NULL; /* belongs to no feature */
    driver.properties = 0;
    ck_assert_uint_eq(driver_supported(&driver),
                      features & ~(unsigned)DRIVER_SNAPSHOT & ~memory_driver.properties);
}
END_TEST

START_TEST(a_driver_has_all_functions_of_a_feature_or_none) {
    for (size_t i = 0; drivers[i]; i++) {
        unsigned some = 0, missing = 0;

#define CALL(feature, result, name, parameters, arguments, subject, output)    \
    *(drivers[i]->name ? &some : &missing) |= DRIVER_##feature;                \
    ck_assert_msg(drivers[i]->name || strcmp(#feature, "REQUIRED") != 0, "%s", \
                  drivers[i]->vendor_name);
#include "drivers/driver.def"
        ck_assert_uint_eq(some & missing, 0);
    }
}
END_TEST

START_TEST(a_fault_filter_supports_all_that_a_driver_can) {
    for (size_t i = 0; drivers[i]; i++)
        ck_assert_uint_eq(driver_supported(drivers[i]) & ~driver_supported(&fault_driver), 0);
}
END_TEST

static bool has_key(const struct driver *driver, const char *key) {
    for (const struct option *const *table = driver->options; *table; table++) {
        for (const struct option *option = *table; option->type != OPTION_TYPE_END; option++) {
            if (strcmp(option->key, key) == 0)
                return true;
        }
    }
    return false;
}

START_TEST(a_driver_has_the_options_of_its_family_alone) {
    static const struct driver *const mounted[] = { &nfs_driver, &netapp_nfs_driver,
                                                    &powerstore_nfs_driver, &quobyte_driver };

    for (size_t i = 0; i < LENGTH(mounted); i++) {
        ck_assert(has_key(mounted[i], "mount_program"));
        ck_assert(has_key(mounted[i], "qemu_img_program"));
        ck_assert(!has_key(mounted[i], "file_volume_directory"));
    }
    ck_assert(has_key(&file_driver, "qemu_img_program"));
    ck_assert(!has_key(&quobyte_driver, "nas_host"));
    ck_assert(!has_key(&memory_driver, "mount_program"));
    ck_assert(!has_key(&memory_driver, "qemu_img_program"));
}
END_TEST

/* An option that two tables describe stands once, as in the first of them: the other would be a
 * lie. */
START_TEST(each_key_stands_in_one_table) {
    const struct option *tables[16];
    size_t count = driver_add_options(drivers, tables, 0, LENGTH(tables));

    for (size_t i = 0; i < count; i++) {
        for (const struct option *option = tables[i]; option->type != OPTION_TYPE_END; option++) {
            for (size_t j = 0; j < i; j++) {
                for (const struct option *other = tables[j]; other->type != OPTION_TYPE_END;
                     other++)
                    ck_assert_str_ne(option->key, other->key);
            }
        }
    }
}
END_TEST

CHECK_MAIN("driver", every_driver_is_found_by_its_name, class_paths_of_cinder_are_known,
           a_misspelling_gets_a_suggestion, every_option_belongs_to_backends_and_has_help,
           the_image_cache_is_limited_by_default, a_feature_needs_all_of_its_functions,
           a_driver_has_all_functions_of_a_feature_or_none,
           a_fault_filter_supports_all_that_a_driver_can,
           a_driver_has_the_options_of_its_family_alone, each_key_stands_in_one_table)
